"""Text faults: a text file whose rows would be lost, joined, shifted or null is refused with its name and reason."""

import datetime

import pytest

from paimon_core.errors import InvalidRequest, SchemaMismatch
from paimon_core.files import lines, splits
from paimon_core.files.file_format import FileFormat
from paimon_core.files.reading import FileRules, read_split
from paimon_core.files.splits import cut_files, list_files
from paimon_core.schema import DataField
from paimon_core.types import parse_type

LTZ = "TIMESTAMP(3) WITH LOCAL TIME ZONE"


def read(path, data, *, options=None, exact=True, tasks=1, **kinds):
    path.write_bytes(data)
    kinds = kinds or {"id": "INT", "s": "STRING"}
    fields = [DataField(n, name, parse_type(kind)) for n, (name, kind) in enumerate(kinds.items())]
    form = FileFormat.of(path.suffix[1:], options)
    parts = cut_files(list_files(str(path), None), form, tasks)
    rules = FileRules(form, fields, fields, is_exact=exact)
    return [tuple(row.values()) for part in parts for s in part for t in read_split(s, rules) for row in t.to_pylist()]


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        (b"id,s\r1,a\r2,b\r", {}, "line 1: the file has line ends CR"),
        (b"id,s\r1,a\r2,b\r", {"multiline": True}, "line 1: the file has line ends CR"),
        (b"1,a\r2,b\r", {"header": False}, "line 1: the file has line ends CR"),
        (b"id,s\r1,a\r", {"header": False}, "line 1: the file has line ends CR"),
        (b'1,a\n2,"b"\r3,c\n', {"header": False}, "line 2: the file has line ends CR"),
        (b"id,s\r1,a\r", {"header": False, "quote": ""}, "line 1: the file has line ends CR"),
        (b'id,s\n1,a\n2,"c\n3,d\n', {"multiline": True}, "a quote is not closed"),
        (b'id,s\n1,a\n"2,c\n3,d', {"multiline": True}, "a quote is not closed"),
        (b'id,s\n1,a\n2,"c\n' + b"3,d\n" * 100, {"multiline": True}, "a quote is not closed"),
        (b"id,s\n1,a\n2,b,c\n", {"multiline": True}, "Expected 2 columns, got 3: 2,b,c"),
        (b"id,s\n1,a\nx,b\n", {"multiline": True}, "column 'id': .*'x'"),
        (b'id,s\n1,a\n2,"c\n', {}, "line 3: a quote is not closed"),
        (b'id,s\n1,a\n2,"c\n3,d"\n', {}, "line 3: a quote is not closed, or .* multiline"),
        pytest.param(
            b'id,s\n1,a\n"\xff,b\n',
            {},
            "line 3: CSV parse error: Expected 2 columns, got 1: [^0-9]*$",
            marks=pytest.mark.filterwarnings(
                "ignore::pytest.PytestUnraisableExceptionWarning"
            ),  # Arrow decodes the row
        ),
        (b"s,id\na,1\nb,x\n", {}, "line 3: column 'id': .*'x'"),
    ],
)
def test_csv_that_would_lose_rows_is_refused(tmp_path, monkeypatch, data, options, message):
    monkeypatch.setattr(lines, "BLOCK_BYTES", 64)
    monkeypatch.setattr("paimon_core.files.csv_rows.BLOCK_BYTES", 64)
    with pytest.raises(InvalidRequest, match=rf"a\.csv.*{message}"):
        read(tmp_path / "a.csv", data, options=options)


def test_values_of_csv_may_have_quotes_and_cr(tmp_path):
    data = b'id,s\r\n1,"a\rb"\r\n2,5" pipe\r\n3,"say ""x"""'
    expected = [(1, "a\rb"), (2, '5" pipe'), (3, 'say "x"')]
    assert read(tmp_path / "a.csv", data) == expected
    assert read(tmp_path / "a.csv", data, options={"multiline": True}) == expected


@pytest.mark.parametrize(
    ("data", "exact", "message"),
    [
        (b"null\n", True, "line 1: the line begins with 'null'"),
        (b'{"id":1,"s":"a"}\nnull\n', True, "line 2: the line begins with 'null'"),
        (b'{"id":1,"s":"a"}null\n  \n', True, "line 1: the line has more than one object"),
        (b'{"id":1,"s":"a"}\n   \n', True, "line 2: the line has only spaces"),
        (b'{"id":1,"s":"a"} {"id":2,"s":"a"}\n', True, "line 1: the line has more than one object"),
        (b'{"id":1,"s":"a"}\r{"id":2,"s":"a"}\r', True, "line 1: the file has line ends CR"),
        (b'{"id":1}\n{"id":2}\n', True, "has no column 's'"),
        (b'{"id":1,"q":{"s":1}}\n{"id":2,"q":"\\"s\\": 1"}\n', False, "has no column 's'"),
        (b'{"ID":1,"s":"a"}\n', True, "line 1: the object has the member 'ID'"),
        (b'{"id":1,"s":"a"}\n{"ID":2,"s":"a"}\n', False, "line 2: the object has a member 'ID'.* column 'id'"),
    ],
)
def test_json_that_would_become_null_is_refused(tmp_path, data, exact, message):
    with pytest.raises(SchemaMismatch, match=rf"a\.json.*{message}"):
        read(tmp_path / "a.json", data, exact=exact)


def test_a_member_that_some_object_has_is_null_in_the_others(tmp_path, monkeypatch):
    monkeypatch.setattr(splits, "_DIVIDED_BYTES", 1)
    monkeypatch.setattr(lines, "BLOCK_BYTES", 20)
    data = b' {"id":1}\n\n' + b'{"id":2}\n' * 9 + b'{"id":3,"s" :null}\n'
    assert read(tmp_path / "a.json", data, tasks=3) == [(1, None), *[(2, None)] * 9, (3, None)]
    escaped = b'{"id":1,"gr\\u00F6":null,"ID":"x"}\n'
    assert read(tmp_path / "a.json", escaped, exact=False, id="INT", grö="INT") == [(1, None)]


@pytest.mark.parametrize("kind", ["csv", "json"])
@pytest.mark.parametrize(
    ("column", "text_format", "value", "message"),
    [
        ("TIMESTAMP(3)", "", "2020-01-01T00:00:00+02:00", "expected no zone offset.*TIMESTAMP without zone"),
        (LTZ, "", "2020-01-01T00:00:00", "expected a zone offset.*write the zone"),
        ("TIMESTAMP(3)", "%d.%m.%Y %z", "01.01.2020 +0200", "expected no zone offset.*TIMESTAMP without zone"),
        (LTZ, "%d.%m.%Y", "01.01.2020", "expected a zone offset.*%z in timestamp_format"),
    ],
)
def test_a_timestamp_has_a_zone_only_when_its_column_has_one(tmp_path, kind, column, text_format, value, message):
    options = {"timestamp_format": text_format} if text_format else {}
    data = f"t\n\n\n{value}\n" if kind == "csv" else f'{{"t":null}}\n\n\n{{"t":"{value}"}}\n'
    with pytest.raises(SchemaMismatch, match=rf"a\.{kind}, line 4: column 't': .*{message}") as raised:
        read(tmp_path / f"a.{kind}", data.encode(), options=options, t=column)
    assert "assume_timezone" not in str(raised.value)


def test_a_zone_of_a_timestamp_is_applied_in_csv_and_json(tmp_path):
    expected = [(datetime.datetime(2024, 1, 2, 9, tzinfo=datetime.UTC),)]
    options = {"timestamp_format": "%d.%m.%Y %H %z"}
    assert read(tmp_path / "a.csv", b"t\n02.01.2024 11 +0200\n", options=options, t=LTZ) == expected
    assert read(tmp_path / "a.json", b'{"t":"02.01.2024 11 +0200"}\n', options=options, t=LTZ) == expected
    assert read(tmp_path / "a.json", b'{"t":"2024-01-02T11:00:00+02:00"}\n', t=LTZ) == expected


def test_a_timestamp_inside_of_a_nested_value_obeys_the_same_rule(tmp_path):
    kind = "ROW<a ARRAY<TIMESTAMP(3)>, d DATE>"
    expected = {"a": [datetime.datetime(2024, 1, 2, 11), None], "d": datetime.date(2024, 1, 2)}
    good = b'{"t":{"a":["2024-01-02T11:00:00",null],"d":"2024-01-02"}}\n{"t":null}\n'
    assert read(tmp_path / "a.json", good, t=kind) == [(expected,), (None,)]
    with pytest.raises(SchemaMismatch, match=r"line 1: column 't': .*expected no zone offset"):
        read(tmp_path / "a.json", good.replace(b'00",', b'00Z",'), t=kind)


def test_a_time_of_json_is_a_text(tmp_path):
    data = b'{"t":"11:30:05"}\n{"t":null}\n'
    assert read(tmp_path / "a.json", data, t="TIME(0)") == [(datetime.time(11, 30, 5),), (None,)]
    with pytest.raises(SchemaMismatch, match=r"line 1: column 't': .*25:30:05"):
        read(tmp_path / "a.json", data.replace(b"11", b"25"), t="TIME(0)")

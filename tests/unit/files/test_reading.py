"""Reading: all splits of a file together have its rows, and a wrong row is named with its file and place."""

import datetime
import gzip
import json
from decimal import Decimal

import pyarrow as pa
import pyarrow.csv
import pyarrow.orc
import pyarrow.parquet as pq
import pytest

from paimon_core import col
from paimon_core.errors import InvalidRequest, SchemaMismatch, UnsupportedFeature
from paimon_core.files import lines, splits
from paimon_core.files.file_format import FileFormat
from paimon_core.files.reading import FileRules, read_split
from paimon_core.files.splits import cut_files, list_files
from paimon_core.schema import DataField
from paimon_core.types import parse_type

FIELDS = [
    DataField(n, name, parse_type(kind))
    for n, (name, kind) in enumerate(
        {
            "id": "BIGINT NOT NULL",
            "s": "VARCHAR(9)",
            "d": "DATE",
            "ts": "TIMESTAMP(3)",
            "x": "DECIMAL(10, 2)",
            "b": "BOOLEAN",
        }.items()
    )
]
HEAD, GOOD = "id,s,d,ts,x,b\n", "1,a,2024-01-01,2024-01-01 00:00:00,1.25,true\n"


def rows(count):
    day, time = datetime.date(2024, 1, 1), datetime.datetime(2024, 1, 1)
    return pa.Table.from_pylist(
        [
            {
                "id": n,
                "s": f"t{n}" if n % 7 else None,
                "d": day + datetime.timedelta(n),
                "ts": time + datetime.timedelta(seconds=n),
                "x": Decimal(n) / 4 if n % 5 else None,
                "b": n % 2 == 0,
            }
            for n in range(count)
        ],
        pa.schema([f.arrow for f in FIELDS]),
    )


def write_json(table, path):
    plain = (datetime.date, Decimal)
    texts = [{k: str(v) if isinstance(v, plain) else v for k, v in row.items()} for row in table.to_pylist()]
    path.write_text("\n".join(map(json.dumps, texts)))


def write_gzip(table, path):
    pyarrow.csv.write_csv(table, path)
    path.write_bytes(gzip.compress(path.read_bytes()))


def read(path, kind, tasks=1, options=None, fields=FIELDS, where=None, exact=True):
    form = FileFormat.of(kind, options)
    rules = FileRules(form, fields, FIELDS, is_exact=exact, where=where)
    parts = cut_files(list_files(str(path), None), form, tasks)
    found = [piece for part in parts for split in part for piece in read_split(split, rules)]
    return pa.concat_tables(found).combine_chunks() if found else rows(0)


@pytest.mark.parametrize("tasks", [1, 3, 17])
@pytest.mark.parametrize(
    ("kind", "name", "write"),
    [
        ("parquet", "a.parquet", lambda table, path: pq.write_table(table, path, row_group_size=90)),
        ("orc", "a.orc", lambda table, path: pyarrow.orc.write_table(table, path, stripe_size=1024)),
        ("csv", "a.csv", pyarrow.csv.write_csv),
        ("csv", "a.csv.gz", write_gzip),
        ("json", "a.json", write_json),
    ],
)
def test_the_splits_of_a_file_have_its_rows_once(tmp_path, monkeypatch, kind, name, write, tasks):
    monkeypatch.setattr(splits, "_DIVIDED_BYTES", 1)
    monkeypatch.setattr(lines, "BLOCK_BYTES", 700)
    write(rows(500), tmp_path / name)
    assert read(tmp_path / name, kind, tasks) == rows(500)


@pytest.mark.parametrize("block", [1, 2, 3, 5, 64])
def test_lines_are_divided_at_any_byte(tmp_path, monkeypatch, block):
    monkeypatch.setattr(splits, "_DIVIDED_BYTES", 1)
    monkeypatch.setattr(lines, "BLOCK_BYTES", block)
    path = tmp_path / "a.csv"
    path.write_bytes(b"\xef\xbb\xbfid\r\n\r\n1\n22\n\n333\r\n4")
    for tasks in range(1, path.stat().st_size + 1):
        assert read(path, "csv", tasks, fields=FIELDS[:1])["id"].to_pylist() == [1, 22, 333, 4], tasks


@pytest.mark.parametrize(
    ("kind", "text", "options", "message"),
    [
        ("csv", HEAD + GOOD * 9 + "\n\n" + GOOD.replace("1,a", "x,a"), None, "line 13: .*'x'"),
        ("csv", HEAD + GOOD * 9 + GOOD.replace("1,a", ",a"), None, "line 11: column 'id' is NOT NULL"),
        ("csv", HEAD + GOOD * 9 + GOOD.replace(",a", ",0123456789"), None, "line 11: column 's'.*0123456789"),
        ("csv", HEAD + GOOD * 9 + GOOD.replace(",a", ',"a') + GOOD, None, "line 11: a quote is not closed"),
        ("csv", "id,s\n1,2\n", None, "no column 'd'"),
        ("csv", HEAD.replace("b", "b,q"), None, "the column 'q', which the table does not have"),
        ("csv", GOOD.replace("2024-01-01", "01.01.2024"), {"header": False}, "line 1: .*date32"),
        ("json", '{"id":1}\n{"id":"x"}\n', None, "line 2: .*from number to string"),
        ("json", '{"id":1}\n{"id":1,"q":1}\n', None, "line 2: the object has the member 'q'"),
        ("json", '{"id":1}{"id":2}\n', None, "line 1: the line has more than one object"),
        ("json", '[{"id":1}]\n', None, "line 1: the line is a JSON array"),
        ("json", '{"id":1,"d":"2024-13-01"}\n', None, "line 1: .*2024-13-01"),
    ],
)
def test_a_wrong_row_is_named(tmp_path, kind, text, options, message):
    path = tmp_path / f"a.{kind}"
    path.write_text(text)
    with pytest.raises(SchemaMismatch, match=rf"a\.{kind}.*{message}"):
        read(path, kind, options=options)


def test_the_line_of_a_later_split_counts_from_the_start_of_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(splits, "_DIVIDED_BYTES", 1)
    (tmp_path / "a.csv").write_text(HEAD + GOOD * 50 + GOOD.replace("1,a", "x,a") + GOOD * 9)
    with pytest.raises(SchemaMismatch, match="line 52: "):
        read(tmp_path / "a.csv", "csv", 7)


def test_a_wrong_row_of_a_parquet_file_is_named(tmp_path):
    wrong = rows(500).set_column(0, "id", pa.array([n if n != 321 else None for n in range(500)], pa.int64()))
    pq.write_table(wrong, tmp_path / "a.parquet", row_group_size=90)
    with pytest.raises(SchemaMismatch, match=r"a\.parquet, row 321: column 'id' is NOT NULL"):
        read(tmp_path / "a.parquet", "parquet")


@pytest.mark.parametrize(("kind", "data"), [("parquet", b"PAR1 xx"), ("parquet", b""), ("orc", b"ORC"), ("csv", b"\n")])
def test_a_file_that_is_not_of_its_kind_is_named(tmp_path, kind, data):
    (tmp_path / "a").write_bytes(data)
    with pytest.raises(InvalidRequest, match=r"file .*/a .*"):
        read(tmp_path / "a", kind)


def test_chosen_columns_leave_the_others_null(tmp_path):
    (tmp_path / "a.json").write_text('{"id":1,"s":"x","q":[1]}\n{"id":2}\n')
    found = read(tmp_path / "a.json", "json", fields=FIELDS[:1], exact=False)
    assert found.to_pylist() == [dict.fromkeys([f.name for f in FIELDS]) | {"id": n} for n in (1, 2)]


def test_options_of_csv(tmp_path):
    (tmp_path / "a.csv").write_text("1;'a;\n''b';-;02.01.2024 11;1.5;true\n")
    options = {"delimiter": ";", "quote": "'", "null_value": "-", "header": False, "multiline": True}
    (row,) = read(tmp_path / "a.csv", "csv", options=options | {"timestamp_format": "%d.%m.%Y %H"}).to_pylist()
    assert row == {
        "id": 1,
        "s": "a;\n'b",
        "d": None,
        "ts": datetime.datetime(2024, 1, 2, 11),
        "x": Decimal("1.50"),
        "b": True,
    }


def test_a_timestamp_of_json_may_have_a_format(tmp_path):
    (tmp_path / "a.json").write_text('{"id":1,"ts":"02.01.2024 11"}\n')
    found = read(
        tmp_path / "a.json", "json", fields=[FIELDS[0], FIELDS[3]], options={"timestamp_format": "%d.%m.%Y %H"}
    )
    assert found["ts"].to_pylist() == [datetime.datetime(2024, 1, 2, 11)]


def test_a_filter_selects_rows(tmp_path):
    pq.write_table(rows(50), tmp_path / "a.parquet")
    found = read(tmp_path / "a.parquet", "parquet", where=(col("id") >= 47) & col("s").is_not_null())
    assert found["id"].to_pylist() == [47, 48]


def test_types_that_text_cannot_contain_are_refused(tmp_path):
    (tmp_path / "a.csv").write_text("id\n1\n")
    with pytest.raises(UnsupportedFeature, match=r"column 'm' is MAP.*csv files cannot contain"):
        read(
            tmp_path / "a.csv",
            "csv",
            options={"header": False},
            fields=[DataField(9, "m", parse_type("MAP<INT, INT>"))],
        )

"""JSON lines and documents: each object is read or rejected with its line, whatever the splits and blocks."""

import datetime as dt
import json
from decimal import Decimal

import pytest

from paimon_lake.protocol import PipelineError
from paimon_lake.sources.files.text import json_document
from tests.pipelines.sources.files.reading import columns, read

ONE = columns(a="INT")
ALL = columns(
    a="INT", b="STRING", d="DECIMAL(10,2)", t="TIMESTAMP(3)", l="ARRAY<BIGINT>", r="ROW<x DATE, y INT NOT NULL>"
)
EMPTY = dict.fromkeys("abdtlr")
LINES = [
    ('{"a":1,"b":"x","t":"2024-01-02T03:04:05Z","l":[1,null],"r":{"x":"2024-01-01","y":1}}', None),
    ("", None),
    ('  {"a":2}\t', None),
    ('{"a":"3"}', ("a", "'3' is not valid for INT")),
    ('{"d":1e2}', None),
    ('{"d":1.005}', ("d", "the number 1.005 is not valid for DECIMAL(10, 2)")),
    ('{"d":"7.25"}', None),
    ('{"d":100000000}', ("d", "the number 100000000 is not valid for DECIMAL(10, 2)")),
    ('{"d":340282366920938463463374607431768211457}', ("d", "the number 340282366920938463463374607431768211457 is not valid for DECIMAL(10, 2)")),  # noqa: E501
    ('{"a":7', (None, "not valid JSON: Expecting ',' delimiter at character 7")),
    ("8}", (None, "not valid JSON: Extra data at character 2")),
    ('{"a":9}{"a":10}', (None, "not valid JSON: Extra data at character 8")),
    ("[1]", (None, "an array instead of an object")),
    ('{"t":"2024-02-30"}', ("t", "'2024-02-30' is not valid for TIMESTAMP(3)")),
    ('{"t":1704067200}', ("t", "the number 1704067200 is not valid for TIMESTAMP(3)")),
    ('{"l":[1,"x"]}', ("l", "'x' is not valid for BIGINT at l.[]")),
    ('{"r":{"x":"2024-13-01","y":1}}', ("r", '\'{"x": "2024-13-01", "y": 1}\' is not valid for ROW<x DATE, y INT NOT NULL>')),  # noqa: E501
    ('{"r":{"y":null}}', ("r", '\'{"x": null, "y": null}\' is not valid for ROW<x DATE, y INT NOT NULL>')),
    ('{"a":null,"b":null,"l":null,"r":null}', None),
    ('{"a":1.0}', ("a", "the number 1.0 is not valid for INT")),
    ('{"a":true}', ("a", "a boolean is not valid for INT")),
    ('{"a":2147483648}', ("a", "the number 2147483648 is not valid for INT")),
    ('{"a":16,"a":17}', ("a", "the member 'a' occurs twice")),
    ('{"b":"\\ud800"}', ("b", "'\\ud800' is not valid for STRING")),
    ('{"a":18}', None),
]  # fmt: skip
ROWS = [
    {**EMPTY, "a": 1, "b": "x", "t": dt.datetime(2024, 1, 2, 3, 4, 5), "l": [1, None], "r": {"x": dt.date(2024, 1, 1), "y": 1}},  # noqa: E501
    {**EMPTY, "a": 2},
    {**EMPTY, "d": Decimal("100.00")},
    {**EMPTY, "d": Decimal("7.25")},
    EMPTY,
    {**EMPTY, "a": 18},
]  # fmt: skip


@pytest.mark.parametrize("split_bytes", [1, 20, 300, 10_000])
@pytest.mark.parametrize("block_bytes", [1, 30, 400, 10_000])
def test_rows_and_rejects_do_not_depend_on_splits_and_blocks(tmp_path, split_bytes, block_bytes):
    data = "\n".join(line for line, _ in LINES).encode() + b'\n{"b":"\xff"}\n'
    rows, rejects = read(tmp_path / "a", data, ALL, "jsonl", split_bytes=split_bytes, block_bytes=block_bytes)
    assert rows == ROWS
    wanted = [(at + 1, *reject, line) for at, (line, reject) in enumerate(LINES) if reject]
    assert rejects == [*wanted, (len(LINES) + 1, None, "not valid utf-8", '{"b":"\\xff"}')]


def test_many_bad_lines_in_one_block(tmp_path):
    lines = [json.dumps({"a": at if at % 7 else str(at)}) for at in range(3000)]
    rows, rejects = read(tmp_path / "a", "\n".join(lines).encode(), ONE, "jsonl")
    assert [row["a"] for row in rows] == [at for at in range(3000) if at % 7]
    assert [reject[0] for reject in rejects] == [at + 1 for at in range(3000) if not at % 7]


def test_lines_that_are_half_an_object_are_not_joined(tmp_path):
    rows, rejects = read(tmp_path / "a", b'{"a":\n1}\n{"a":2}{"a":3}\n', ONE, "jsonl")
    assert rows == []
    assert [line for line, *_ in rejects] == [1, 2, 3]


def test_maps_are_objects(tmp_path):
    lines = (
        b'{"m":{"x":"2024-01-01","y":null}}\n{"m":{"x":1}}\n{"m":{"x":null,"x":null}}\n{"m":{"z":"bad"}}\n{"m":[]}\n{}'
    )
    rows, rejects = read(tmp_path / "a", lines, columns(m="MAP<STRING, DATE>"), "jsonl")
    assert rows == [{"m": [("x", dt.date(2024, 1, 1)), ("y", None)]}, {"m": None}]
    assert [reject[:2] for reject in rejects] == [(2, "m"), (3, "m"), (4, "m"), (5, "m")]
    rows, rejects = read(tmp_path / "a", b'{"m":{"1":2}}\n{"m":{"x":2}}', columns(m="MAP<INT, INT>"), "jsonl")
    assert (rows, [line for line, *_ in rejects]) == ([{"m": [(1, 2)]}], [2])


def test_floats(tmp_path):
    rows, rejects = read(
        tmp_path / "a", b'{"f":0.5,"d":1}\n{"f":1e39}\n{"d":1e400}', columns(f="FLOAT", d="DOUBLE"), "jsonl"
    )
    assert rows == [{"f": 0.5, "d": 1.0}]
    assert [reject[:2] for reject in rejects] == [(2, "f"), (3, "d")]


def test_decimals_with_an_exponent_do_not_wrap_around(tmp_path):
    """Arrow reads the first one as 9551369084621531531851413245634438.7584."""
    lines = b'{"d":123456789e28}\n{"d":123456789e20}\n{"d":"123456789e28"}\n'
    rows, rejects = read(tmp_path / "a", lines, columns(d="DECIMAL(38,4)"), "jsonl")
    assert rows == [{"d": Decimal(12345678900000000000000000000)}]
    assert [reject[:2] for reject in rejects] == [(1, "d"), (3, "d")]


def test_a_missing_member_of_a_key_is_rejected(tmp_path):
    rows, rejects = read(tmp_path / "a", b'{"a":1}\n{}\n', ONE, "jsonl", not_null=("a",))
    assert (rows, rejects) == ([{"a": 1}], [(2, "a", "null in a column that must not be null", "{}")])


def test_unknown_members(tmp_path):
    with pytest.raises(PipelineError, match="has columns that the table does not have: 'z'"):
        read(tmp_path / "a", b'{"a":1}\n{"a":1,"z":2}\n', ONE, "jsonl")
    with pytest.raises(PipelineError, match=r"does not have: 'r\.z'"):
        read(tmp_path / "a", b'{"r":{"z":2}}\n', ALL, "jsonl")
    assert read(tmp_path / "a", b'{"a":1,"z":[{}]}', ONE, "jsonl", ignore_extra_columns=True) == ([{"a": 1}], [])


@pytest.mark.parametrize("block_bytes", [1, 1000])
def test_a_document_is_an_array_or_one_object(tmp_path, block_bytes):
    data = b'\xef\xbb\xbf[\n{"a":1,\n"b":"x"},\n {"a":"q"}, 5\n]\n'
    rows, rejects = read(tmp_path / "a", data, columns(a="INT", b="STRING"), "json", block_bytes=block_bytes)
    assert rows == [{"a": 1, "b": "x"}]
    assert rejects == [
        (4, "a", "'q' is not valid for INT", '{"a":"q"}'),
        (4, None, "the number 5 instead of an object", "5"),
    ]
    assert read(tmp_path / "a", b'{"a":1}', ONE, "json") == ([{"a": 1}], [])
    assert read(tmp_path / "a", b" [] ", ONE, "json") == ([], [])


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'[{"a":1},]', "a value is missing after a comma, at line 1"),
        (b'[{"a":1}', "a comma or ] is missing, at line 1"),
        (b'{"a":1}\n{"a":2}', "text after the end; for one object a line use jsonl, at line 2"),
        (b'[{"a":1}]\n\n]', "text after the end; for one object a line use jsonl, at line 3"),
        (b'[\n{"a":}]', "Expecting value, at line 2"),
        (b"[", "the array is not closed, at line 1"),
    ],
)
def test_a_broken_document_is_refused(tmp_path, data, reason):
    with pytest.raises(PipelineError) as error:
        read(tmp_path / "a", data, ONE, "json")
    assert str(error.value) == f"file {tmp_path}/a is not a JSON document: {reason}"


def test_a_document_in_another_encoding_and_a_too_large_one(tmp_path, monkeypatch):
    assert read(tmp_path / "a", '{"b":"é"}'.encode("latin-1"), columns(b="STRING"), "json", encoding="latin-1")[0] == [
        {"b": "é"}
    ]
    with pytest.raises(PipelineError, match="is not valid utf-8 at line 2"):
        read(tmp_path / "a", b"[\n\xff]", ONE, "json")
    monkeypatch.setattr(json_document, "DOCUMENT_BYTES", 10)
    with pytest.raises(PipelineError, match="write it as jsonl"):
        read(tmp_path / "a", b'[{"a":1000}]', ONE, "json")

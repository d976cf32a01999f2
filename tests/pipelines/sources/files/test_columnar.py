"""Parquet, ORC and Avro: values are cast exactly, rows that do not fit are rejected with their number."""

import datetime as dt
import io
import uuid
from decimal import Decimal

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from paimon_core.codec.parquet.thrift import I64, LIST, STRUCT, parse_struct, serialize_struct
from paimon_core.datafile.parquet.footer import file_end, footer_of
from paimon_lake.protocol import PipelineError
from paimon_lake.sources.files import RowRules, columnar, file_format, list_files, plan_splits, read_split
from tests.pipelines.sources.files.reading import columns, read


def parquet(table):
    sink = io.BytesIO()
    pq.write_table(table, sink, row_group_size=3)
    return sink.getvalue()


def orc_file(table):
    sink = io.BytesIO()
    orc.write_table(table, sink)
    return sink.getvalue()


TABLE = pa.table(
    {
        "a": pa.array([1, 2**40, None, 4]),
        "d": pa.array(["1.5", "x", "2.555", "3"]),
        "f": pa.array([1.0, 2.0, 3.0, 4.0]),
        "t": pa.array([dt.datetime(2024, 1, 1), None, dt.datetime(2024, 1, 2), None]),
        "n": pa.array([{"x": 1, "y": ["a"]}, None, {"x": None, "y": []}, {"x": 300, "y": None}]),
    }
)
SCHEMA = columns(a="INT", d="DECIMAL(5,2)", f="BIGINT", t="DATE", n="ROW<x TINYINT, y ARRAY<STRING>>")


@pytest.mark.parametrize(("kind", "write"), [("parquet", parquet), ("orc", orc_file)])
@pytest.mark.parametrize("block_bytes", [1, 1 << 20])
def test_rows_and_rejects(tmp_path, kind, write, block_bytes):
    rows, rejects = read(tmp_path / "a", write(TABLE), SCHEMA, kind, split_bytes=1, block_bytes=block_bytes)
    assert rows == [{"a": 1, "d": Decimal("1.50"), "f": 1, "t": dt.date(2024, 1, 1), "n": {"x": 1, "y": ["a"]}}]
    assert rejects == [
        (2, "a", "'1099511627776' is not valid for INT", '{"a": 1099511627776, "d": "x", "f": 2.0, "t": null, "n": null}'),  # noqa: E501
        (3, "d", "'2.555' is not valid for DECIMAL(5, 2)", '{"a": null, "d": "2.555", "f": 3.0, "t": "2024-01-02 00:00:00", "n": {"x": null, "y": []}}'),  # noqa: E501
        (4, "n", '\'{"x": 300, "y": null}\' is not valid for ROW<x TINYINT, y ARRAY<STRING>>', '{"a": 4, "d": "3", "f": 4.0, "t": null, "n": {"x": 300, "y": null}}'),  # noqa: E501
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("given", "kind", "wanted"),
    [
        (pa.array([1.5, 2.0, float("nan")]), "INT", [2]),
        (pa.array([2**53 + 1, 5]), "DOUBLE", [5.0]),
        (pa.array([1e39, 0.5]), "FLOAT", [0.5]),
        (pa.array([5, 1000]), "DECIMAL(3,0)", [Decimal(5)]),
        (pa.array([Decimal("1.50"), Decimal("1.55")]), "DECIMAL(5,1)", [Decimal("1.5")]),
        (pa.array([Decimal("1.50"), Decimal("2.00")]), "INT", [2]),
        (pa.array([dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 1, 5)]), "DATE", [dt.date(2024, 1, 1)]),
        (pa.array([dt.date(2024, 1, 1)]), "TIMESTAMP(3)", [dt.datetime(2024, 1, 1)]),
        (pa.array([0, 1], pa.timestamp("us", "Europe/Berlin")), "TIMESTAMP(3)", [dt.datetime(1970, 1, 1)]),
        (pa.array([1000, 500], pa.timestamp("ms")), "TIMESTAMP(0)", [dt.datetime(1970, 1, 1, 0, 0, 1)]),
        (pa.array([1_000_000, 1], pa.time64("us")), "TIME(3)", [dt.time(0, 0, 1)]),
        (pa.array(["ab", "abc"]).dictionary_encode(), "CHAR(2)", ["ab"]),
        (pa.array([b"a", b"\xff"]), "STRING", ["a"]),
        (pa.array([b"a", b"\xff"]).view(pa.string()), "STRING", ["a"]),
        (pa.array([b"ab", b"abc"]), "VARBINARY(2)", [b"ab"]),
        (pa.array([1, 2], pa.uint8()), "TINYINT", [1, 2]),
        (pa.array([True]), "BOOLEAN", [True]),
        (pa.array([None, None]), "INT", [None, None]),
        (pa.array([[("a", 2)], [("b", None)]], pa.map_(pa.string(), pa.int64())), "MULTISET<STRING>", [[("a", 2)]]),
        (
            pa.array([{"metadata": b"m", "value": b"v"}, {"metadata": None, "value": b"v"}, None]),
            "VARIANT",
            [{"value": b"v", "metadata": b"m"}, None],
        ),
    ],
)
def test_exact_casts(tmp_path, given, kind, wanted):
    rows, rejects = read(tmp_path / "a", parquet(pa.table({"c": given})), columns(c=kind), "parquet")
    assert [row["c"] for row in rows] == wanted
    assert len(rejects) == len(given) - len(wanted)


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (pa.array([1.5]), "DECIMAL(5,2)"),
        (pa.array([1]), "BOOLEAN"),
        (pa.array([1]), "TIMESTAMP(3)"),
        (pa.array([1.5]), "STRING"),
        (pa.array([[1]]), "INT"),
        (pa.array([1]), "ARRAY<INT>"),
    ],
)
def test_casts_that_would_guess_are_refused(tmp_path, given, kind):
    with pytest.raises(
        PipelineError, match=rf"file {tmp_path}/a: the column 'c' is .* in the file, which has no exact cast"
    ):
        read(tmp_path / "a", parquet(pa.table({"c": given})), columns(c=kind), "parquet")


def test_extra_and_missing_columns(tmp_path):
    data = parquet(pa.table({"C": [1], "z": [2]}))
    with pytest.raises(PipelineError, match="does not have: 'z'"):
        read(tmp_path / "a", data, columns(c="INT"), "parquet")
    with pytest.raises(PipelineError, match="has no column 'd'; its columns are 'C', 'z'"):
        read(tmp_path / "a", data, columns(c="INT", d="DATE"), "parquet", ignore_extra_columns=True)
    lenient = {"ignore_extra_columns": True, "allow_missing_columns": True}
    assert read(tmp_path / "a", data, columns(c="INT", d="DATE"), "parquet", **lenient) == ([{"c": 1, "d": None}], [])
    with pytest.raises(PipelineError, match=r"has no column 'n\.y'; its columns are 'n'"):
        read(tmp_path / "a", parquet(pa.table({"n": [{"x": 1}]})), columns(n="ROW<x INT, y INT>"), "parquet")
    with pytest.raises(PipelineError, match=r"does not have: 'n\.z'"):
        read(tmp_path / "a", parquet(pa.table({"n": [{"x": 1, "z": 2}]})), columns(n="ROW<x INT>"), "parquet")
    _, rejects = read(tmp_path / "a", parquet(pa.table({"c": [None, 1]})), columns(c="INT"), "parquet", not_null=("c",))
    assert rejects == [(1, "c", "null in a column that must not be null", '{"c": null}')]


AVRO = {
    "type": "record",
    "name": "r",
    "fields": [
        {"name": "a", "type": ["null", "long"]},
        {"name": "m", "type": {"type": "map", "values": "int"}},
        {"name": "d", "type": {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 3}},
        {"name": "t", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "u", "type": {"type": "string", "logicalType": "uuid"}},
        {"name": "e", "type": {"type": "enum", "name": "E", "symbols": ["A", "B"]}},
        {"name": "s", "type": {"type": "array", "items": {"type": "record", "name": "S", "fields": [{"name": "e", "type": "E"}]}}},  # noqa: E501
    ],
}  # fmt: skip
AVRO_SCHEMA = columns(
    a="INT", m="MAP<STRING,INT>", d="DECIMAL(6,2)", t="TIMESTAMP(6)", u="STRING", e="STRING", s="ARRAY<ROW<e STRING>>"
)


def avro(count):
    at = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
    sink = io.BytesIO()
    rows = [
        {"a": n, "m": {"k": n}, "d": Decimal(n) / 8, "t": at, "u": uuid.UUID(int=n), "e": "A", "s": [{"e": "B"}]}
        for n in range(1, count + 1)
    ]
    fastavro.writer(sink, AVRO, rows, sync_interval=64)
    return sink.getvalue()


@pytest.mark.parametrize("block_bytes", [1, 1 << 20])
def test_avro(tmp_path, block_bytes):
    rows, rejects = read(tmp_path / "a", avro(20), AVRO_SCHEMA, "avro", block_bytes=block_bytes)
    assert [row["a"] for row in rows] == list(range(2, 21, 2))
    assert rows[0] == {
        "a": 2,
        "m": [("k", 2)],
        "d": Decimal("0.25"),
        "t": dt.datetime(2024, 1, 1),
        "u": "00000000-0000-0000-0000-000000000002",
        "e": "A",
        "s": [{"e": "B"}],
    }
    assert [reject[:3] for reject in rejects][:2] == [
        (1, "d", "'0.125' is not valid for DECIMAL(6, 2)"),
        (3, "d", "'0.375' is not valid for DECIMAL(6, 2)"),
    ]


def test_avro_unions_of_several_types_are_refused(tmp_path):
    sink = io.BytesIO()
    node = {"type": "record", "name": "r", "fields": [{"name": "a", "type": ["int", "string"]}]}
    fastavro.writer(sink, node, [{"a": 1}])
    with pytest.raises(PipelineError, match="the column 'a' is a union of several types"):
        read(tmp_path / "a", sink.getvalue(), columns(a="INT"), "avro")


@pytest.mark.parametrize("kind", ["parquet", "orc", "avro"])
def test_a_damaged_file_is_named(tmp_path, kind):
    data = {"parquet": parquet, "orc": orc_file, "avro": lambda _: avro(3)}[kind](TABLE)
    for cut in (b"no such file at all", data[: len(data) // 2], data[:-30]):
        with pytest.raises(PipelineError, match=rf"file {tmp_path}/a cannot be read: "):
            read(tmp_path / "a", cut, AVRO_SCHEMA if kind == "avro" else SCHEMA, kind)


@pytest.mark.parametrize(("kind", "write"), [("parquet", parquet), ("orc", orc_file)])
def test_rows_that_the_metadata_states_and_a_reader_does_not_deliver_are_counted(tmp_path, monkeypatch, kind, write):
    def without_last(file, stream):
        opened = whole(file, stream)
        return columnar.Columnar(opened.schema, lambda names: iter(list(opened.batches(names))[:-1]), opened.rows)

    whole = columnar.open_columnar
    monkeypatch.setattr(columnar, "open_columnar", without_last)
    (tmp_path / "a").write_bytes(write(pa.table({"c": [1, 2, 3, 4]})))
    form = file_format(kind)
    (split,) = plan_splits(list_files(str(tmp_path / "a"), {}), form)
    found = list(read_split(split, form, columns(c="INT"), RowRules(), {}, block_bytes=8))
    assert sum(parsed.read for parsed in found) == 4 > sum(len(parsed.rows) for parsed in found)


@pytest.mark.parametrize("kind", ["parquet", "orc"])
def test_one_long_text_in_all_rows_is_read_in_small_parts(tmp_path, kind):
    texts = ["x" * 100_000] * 1_500
    if kind == "parquet":
        data = parquet_of_one_group(pa.table({"c": pa.array(texts).dictionary_encode()}))
    else:
        sink = io.BytesIO()
        orc.write_table(pa.table({"c": texts}), sink, compression="zstd", dictionary_key_size_threshold=1.0)
        data = sink.getvalue()
    assert len(data) < 10_000
    (tmp_path / "a").write_bytes(data)
    form = file_format(kind)
    (split,) = plan_splits(list_files(str(tmp_path / "a"), {}), form)
    found = read_split(split, form, columns(c="STRING"), RowRules(), {}, block_bytes=1 << 40)
    assert 0 < len(next(found).rows) <= 670


def parquet_of_one_group(table):
    sink = io.BytesIO()
    pq.write_table(table, sink, compression="zstd")
    return sink.getvalue()


def test_an_avro_block_that_unpacks_to_too_much_is_refused(tmp_path):
    sink = io.BytesIO()
    schema = {"type": "record", "name": "r", "fields": [{"name": "c", "type": "string"}]}
    fastavro.writer(sink, schema, [{"c": "x" * (40 << 20)}], codec="deflate")
    with pytest.raises(PipelineError, match=r"file .*a cannot be read: its blocks unpack to more than 33554432 bytes"):
        read(tmp_path / "a", sink.getvalue(), columns(c="STRING"), "avro")


def test_a_parquet_footer_that_ends_arrow_is_refused(tmp_path):
    data = parquet(pa.table({"c": [1, 2]}))
    before, footer = footer_of(data)
    tree = parse_struct(footer)
    chunk = tree[4][1][1][0][1][1][1][0][3][1]
    chunk[16] = (STRUCT, {3: (LIST, (I64, [2]))})
    with pytest.raises(PipelineError, match="a histogram of 1 levels"):
        read(tmp_path / "a", before + file_end(serialize_struct(tree)), columns(c="INT"), "parquet")

import decimal
import sys

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from paimon_core.arrow import conform, gather, open_stream
from paimon_core.errors import InvalidRequest, SchemaMismatch
from paimon_core.schema import new_schema
from paimon_core.types import parse_type

FIELDS = new_schema(
    pa.schema([("k", pa.int64(), False), ("s", pa.string()), ("d", pa.decimal128(5, 2)), ("t", pa.timestamp("us"))]),
    primary_key=["k"],
    types={"s": "VARCHAR(3)"},
).fields


@pytest.mark.parametrize(
    "data",
    [
        pa.table({"k": [1, 2]}),
        pa.record_batch({"k": [1, 2]}),
        pa.table({"k": [1, 2]}).to_reader(),
        pa.table({"k": [1, 2]}).to_batches(),
        pl.DataFrame({"k": [1, 2]}),
        pd.DataFrame({"k": [1, 2]}),
        [{"k": 1}, {"k": 2}],
    ],
    ids=lambda d: type(d).__name__,
)
def test_anything_with_an_arrow_stream_is_accepted(data):
    assert open_stream(data).read_all()["k"].to_pylist() == [1, 2]


@pytest.mark.parametrize("data", [None, 3, "rows", [{"k": 1}, 2], {"k": [1]}])
def test_other_things_are_refused(data):
    with pytest.raises(InvalidRequest, match="Arrow stream"):
        open_stream(data)


def test_columns_are_matched_by_name_and_cast():
    rows = pa.table(
        {"s": pa.array(["a"], pa.large_string()), "k": pa.array([1], pa.int8()), "d": [decimal.Decimal("1.5")]}
    )
    out = conform(rows, FIELDS)
    assert out.schema.types == [f.arrow.type for f in FIELDS]
    assert out.to_pylist() == [{"k": 1, "s": "a", "d": decimal.Decimal("1.50"), "t": None}]


@pytest.mark.parametrize(
    ("columns", "word"),
    [
        ({"k": [1], "x": [1]}, "'x'"),
        ({"s": ["a"]}, "'k' is NOT NULL and missing"),
        ({"k": pa.array([7] * 17 + [None, None])}, "'k' is NOT NULL but 2 values are null; .* row is 17: None$"),
        ({"k": [1, 2], "s": ["ok", "long"]}, "'s' is .* has the length 4; .* row is 1: long$"),
        ({"k": [1], "s": [5]}, "'s'"),
        ({"k": ["1"]}, "'k'"),
        ({"k": [1.5]}, "'k'"),
        ({"k": pa.array([*range(300), 2**63], pa.uint64())}, f"'k': .* row is 300: {2**63}$"),
        ({"k": [1], "d": [decimal.Decimal("1000.00")]}, "'d'"),
        ({"k": [1], "t": pa.array([0], pa.timestamp("us", tz="UTC"))}, "'t'"),
    ],
)
def test_what_does_not_fit_is_refused_by_column(columns, word):
    with pytest.raises(SchemaMismatch, match=word):
        conform(pa.table(columns), FIELDS)


@pytest.mark.parametrize(
    "data",
    [
        [pa.record_batch({"k": [1]}), pa.record_batch({"k": ["x"]})],
        pa.chunked_array([[1, 2]]),
    ],
    ids=["schemas", "column"],
)
def test_data_that_is_no_table(data):
    with pytest.raises(InvalidRequest, match="not a stream of record batches"):
        open_stream(data).read_all()


def test_empty_and_labelled_data():
    assert open_stream([]).read_all().num_rows == 0
    labelled = pd.DataFrame({"k": [1, 2, 3]}).query("k > 1")
    assert conform(open_stream(labelled).read_all(), FIELDS)["k"].to_pylist() == [2, 3]


@pytest.mark.parametrize(
    ("kind", "values", "word"),
    [
        ("DECIMAL(5, 2)", pa.array([1.005]), "does not accept double"),
        ("FLOAT", pa.array([1e300]), "infinite"),
        ("TIME(3)", pa.array([86_400_000], pa.int32()).cast(pa.time32("ms")), "outside of a day"),
        ("TIME(0)", pa.array([1], pa.int32()).cast(pa.time32("ms")), "more digits of a second"),
        ("TIMESTAMP(0)", pa.array([500], pa.timestamp("ms")), "more digits of a second"),
        ("TIMESTAMP(4)", pa.array([123456], pa.timestamp("us")), "more digits of a second"),
        ("TIMESTAMP(3)", pa.array([123456], pa.timestamp("us")), "'c'"),
    ],
)
def test_values_outside_of_their_type(kind, values, word):
    fields = new_schema(pa.schema([("c", parse_type(kind).to_arrow())]), types={"c": kind}).fields
    with pytest.raises(SchemaMismatch, match=word):
        conform(pa.table({"c": values}), fields)


def test_values_at_the_edge_of_their_type():
    for kind, values in (
        ("TIMESTAMP(4)", pa.array([-123400, None], pa.timestamp("us"))),
        ("TIME(0)", pa.array([86_399_000], pa.int32()).cast(pa.time32("ms"))),
        ("FLOAT", pa.array([0.1, float("inf"), None])),
    ):
        fields = new_schema(pa.schema([("c", parse_type(kind).to_arrow())]), types={"c": kind}).fields
        assert len(conform(pa.table({"c": values}), fields)) == len(values)


def test_text_that_is_no_utf8_is_refused():
    buffers = [None, pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"\xff\xfe")]
    broken = pa.Array.from_buffers(pa.string(), 1, buffers)
    with pytest.raises(SchemaMismatch, match="'s' contains bytes that are not valid UTF-8"):
        conform(pa.table({"k": [1], "s": broken}), FIELDS)


NESTED = new_schema(
    pa.schema(
        [
            ("a", pa.list_(pa.field("element", pa.int16(), nullable=False))),
            ("m", pa.map_(pa.string(), pa.int32())),
            ("r", pa.struct([("x", pa.int32()), ("t", pa.time32("ms"))])),
        ]
    )
).fields


def test_nested_values_are_cast_inside():
    rows = [{"a": [1, 2], "m": [("p", 1), ("q", None)], "r": {"x": 5, "t": None}}, {"a": None, "m": [], "r": None}]
    wide = pa.table(
        {
            "a": pa.array([r["a"] for r in rows], pa.large_list(pa.int64())),
            "m": pa.array([r["m"] for r in rows], pa.map_(pa.large_string(), pa.int64())),
            "r": pa.array([r["r"] for r in rows], pa.struct([("x", pa.int64()), ("t", pa.time32("s"))])),
        }
    )
    found = conform(wide, NESTED)
    assert found.schema == pa.schema([f.arrow for f in NESTED])
    assert found.to_pylist() == rows


@pytest.mark.parametrize("held", [pa.int32(), pa.int64()])
def test_a_null_row_may_have_null_members_that_are_not_null(held):
    strict = pa.struct([pa.field("n", pa.int32(), nullable=False)])
    fields = new_schema(pa.schema([("s", strict), ("m", pa.map_(pa.string(), strict))])).fields
    row = pa.StructArray.from_arrays([pa.array([1, None], held)], ["n"], mask=pa.array([False, True]))
    pairs = pa.MapArray.from_arrays(pa.array([0, 2, 2], pa.int32()), pa.array(["a", "b"]), row)
    data = pa.table({"s": row, "m": pairs})
    found = conform(data, fields)
    assert found.schema.types == [f.type.to_arrow() for f in fields]
    assert found.to_pylist() == data.to_pylist()
    again = conform(found, fields)
    assert again.to_pylist() == data.to_pylist()


@pytest.mark.parametrize(
    ("column", "values", "word"),
    [
        ("a", pa.array([[1], [None]]), r"'a\.element' is NOT NULL"),
        ("a", pa.array([[70_000]]), "does not fit"),
        ("a", pa.array([["7"]]), r"'a\.element' is SMALLINT NOT NULL and does not accept string"),
        ("a", pa.array([7]), "does not accept int64"),
        ("m", pa.array([[("k", "v")]], pa.map_(pa.string(), pa.string())), r"'m\.value'"),
        ("r", pa.array([{"x": 1, "u": 1}]), "does not accept struct"),
        ("r", pa.array([{"x": 1, "t": -1}], pa.struct([("x", pa.int32()), ("t", pa.int32())])), r"'r\.t'"),
    ],
)
def test_nested_values_that_do_not_fit_are_refused(column, values, word):
    with pytest.raises(SchemaMismatch, match=word):
        conform(pa.table({column: values}), NESTED)


def test_only_the_values_of_a_slice_count():
    values = pa.chunked_array([pa.array([[None], [1]]).slice(1)])
    assert conform(pa.table({"a": values}), NESTED)["a"].to_pylist() == [[1]]


def test_batches_are_gathered_to_tables_of_a_size():
    batch = pa.record_batch({"n": pa.array([1, 2], pa.int64())})
    assert [len(table) for table in gather([batch] * 5, 32)] == [4, 4, 2]
    assert [len(table) for table in gather([batch] * 5)] == [10]


def test_several_threads_convert_as_one_and_name_the_first_column(monkeypatch):
    monkeypatch.setattr(sys.modules["paimon_core.arrow.conform"], "_MANY_ROWS", 2)
    monkeypatch.setattr("paimon_core.processors.usable", lambda: 4)
    schema = pa.schema([(f"c{at}", pa.int32()) for at in range(8)])
    fields = new_schema(schema).fields
    rows = pa.table({f"c{at}": pa.array([at, None, 7], pa.int64()) for at in range(7)})
    assert conform(rows, fields).to_pylist() == [{**row, "c7": None} for row in rows.to_pylist()]
    wrong = rows
    for at in (2, 5, 6):
        wrong = wrong.set_column(at, f"c{at}", pa.array([1, 2**40, 3]))
    for _ in range(20):
        with pytest.raises(SchemaMismatch, match=r"'c2'.*the first such row is 11"):
            conform(wrong, fields, first_row=10)

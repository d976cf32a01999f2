import decimal

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from paimon_core.arrow import conform, open_stream
from paimon_core.errors import InvalidRequest, SchemaMismatch
from paimon_core.schema import new_schema

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


@pytest.mark.parametrize("data", [None, 3, "rows", [], {"k": [1]}])
def test_other_things_are_refused(data):
    with pytest.raises(InvalidRequest, match=type(data).__name__):
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
        ({"k": pa.array([None], pa.int64())}, "'k' is NOT NULL but 1"),
        ({"k": [1], "s": ["long"]}, "4 long"),
        ({"k": [1], "s": [5]}, "'s'"),
        ({"k": ["1"]}, "'k'"),
        ({"k": [1.5]}, "'k'"),
        ({"k": pa.array([2**63], pa.uint64())}, "'k'"),
        ({"k": [1], "d": [decimal.Decimal("1000.00")]}, "'d'"),
        ({"k": [1], "t": pa.array([0], pa.timestamp("us", tz="UTC"))}, "'t'"),
    ],
)
def test_what_does_not_fit_is_refused_by_column(columns, word):
    with pytest.raises(SchemaMismatch, match=word):
        conform(pa.table(columns), FIELDS)

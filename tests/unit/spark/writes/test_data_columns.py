"""Columns of a DataFrame that a table cannot store are refused without Spark, before its tasks start."""

from __future__ import annotations

import pytest
from pyspark.sql.types import (
    ArrayType,
    IntegerType,
    LongType,
    NullType,
    StringType,
    StructType,
    TimestampNTZType,
    TimeType,
)

from paimon_core.errors import SchemaMismatch
from paimon_core.schema import DataField, TableSchema
from paimon_core.spark.writes.data_columns import check_columns
from paimon_core.types import parse_type

FIELDS = tuple(
    DataField(at, name, parse_type(kind))
    for at, (name, kind) in enumerate([("k", "BIGINT NOT NULL"), ("v", "STRING"), ("t", "TIMESTAMP(3)"), ("u", "TIME")])
)
TABLE = TableSchema(id=0, fields=FIELDS, highest_field_id=9, partition_keys=(), primary_keys=(), options={})
INT, LONG, TEXT = IntegerType(), LongType(), StringType()


def check(skipped=(), **columns):
    data = StructType()
    for name, kind in columns.items():
        data.add(name, kind)
    check_columns(TABLE, data, skipped)


def test_columns_that_fit():
    check(k=LONG)
    check(k=INT, v=TEXT, t=TimestampNTZType(), u=TimeType(3))
    check({"op"}, k=LONG, v=NullType(), op=TEXT)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"k": LONG, "extra": INT}, "the table has no column 'extra'; the columns are k, t, u, v"),
        ({"v": TEXT}, "column 'k' is NOT NULL and missing in the data"),
        ({"k": TEXT}, "column 'k'"),
        ({"k": LONG, "v": ArrayType(INT)}, "column 'v'"),
    ],
)
def test_columns_that_do_not_fit(columns, message):
    with pytest.raises(SchemaMismatch, match=message):
        check(**columns)

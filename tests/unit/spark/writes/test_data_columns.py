"""Columns of a DataFrame that a table cannot store are refused without Spark, before its tasks start."""

from __future__ import annotations

import pytest
from pyspark.sql.types import DataType

from paimon_core.errors import SchemaMismatch
from paimon_core.schema import DataField, TableSchema
from paimon_core.spark.writes.data_columns import check_columns
from paimon_core.types import parse_type

FIELDS = tuple(
    DataField(at, name, parse_type(kind))
    for at, (name, kind) in enumerate([("k", "BIGINT NOT NULL"), ("v", "STRING"), ("t", "TIMESTAMP(3)"), ("u", "TIME")])
)
TABLE = TableSchema(id=0, fields=FIELDS, highest_field_id=9, partition_keys=(), primary_keys=(), options={})


@pytest.mark.parametrize(
    "data", ["k bigint", "k int, v string, t timestamp_ntz, u time(3)", "k bigint, v void, op string"]
)
def test_columns_that_fit(data):
    check_columns(TABLE, DataType.fromDDL(data), {"op"})


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("k bigint, extra int", "the table has no column 'extra'; the columns are k, t, u, v"),
        ("v string", "column 'k' is NOT NULL and missing in the data"),
        ("k string", "column 'k'"),
        ("k bigint, v array<int>", "column 'v'"),
    ],
)
def test_columns_that_do_not_fit(data, message):
    with pytest.raises(SchemaMismatch, match=message):
        check_columns(TABLE, DataType.fromDDL(data))

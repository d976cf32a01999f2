"""The names that needed columns have in files of an older schema, without Spark."""

from __future__ import annotations

import pytest

from paimon_core.schema import DataField, TableSchema
from paimon_core.spark.reads.native import stored_names
from paimon_core.types import parse_type


def fields(*columns):
    return tuple(DataField(number, name, parse_type(kind)) for number, name, kind in columns)


def schema(*columns):
    return TableSchema(
        id=0, fields=fields(*columns), highest_field_id=9, partition_keys=(), primary_keys=(), options={}
    )


@pytest.mark.parametrize(
    ("needed", "stored", "names"),
    [
        ([(0, "a", "INT")], [(0, "a", "INT"), (1, "b", "STRING")], ("a",)),
        ([(0, "a", "INT")], [(0, "a", "INT NOT NULL")], ("a",)),
        ([(0, "new", "INT"), (2, "a", "INT")], [(0, "a", "INT")], ("a", None)),
        ([(0, "a", "BIGINT")], [(0, "a", "INT")], None),
        ([(0, "a", "VARCHAR(9)")], [(0, "a", "VARCHAR(5)")], None),
        ([(0, "a", "DECIMAL(9, 2)")], [(0, "a", "DECIMAL(9, 3)")], None),
        ([(2, "c", "INT")], [(0, "a", "INT")], None),
        ([(0, "a", "ARRAY<INT>")], [(0, "a", "ARRAY<INT NOT NULL>")], ("a",)),
        ([(0, "a", "ARRAY<BIGINT>")], [(0, "a", "ARRAY<INT>")], None),
        ([(0, "a", "ROW<x INT, y INT>")], [(0, "a", "ROW<x INT>")], None),
        ([(0, "a", "ROW<x INT>")], [(0, "a", "ROW<z INT>")], None),
    ],
)
def test_columns_are_found_by_id_and_must_be_stored_alike(needed, stored, names):
    assert stored_names(fields(*needed), schema(*stored)) == names

"""Conditions of SQL that the library can test: only those that it tests as Spark does."""

import pyarrow as pa
import pytest
import sqlglot

from paimon_core.schema import new_schema
from paimon_core.spark.sql.pushdown import pushed
from paimon_core.types import annotated_field, parse_columns
from paimon_core.types.arrow_types import Annotations

COLUMNS = (
    "i INT, l BIGINT, d DECIMAL(10, 2), x DOUBLE, f FLOAT, t STRING, dt DATE, ts TIMESTAMP, z TIMESTAMP_LTZ, b BOOLEAN"
)
FIELDS = new_schema(
    pa.schema([annotated_field(c.name, Annotations(c.type)) for c in parse_columns(COLUMNS)]),
    primary_key=[], partition_by=[], options={}, types=None, comment=None,
).fields  # fmt: skip


def found(condition, alone=True):
    where = sqlglot.parse_one(f"SELECT 1 FROM t WHERE {condition}", dialect="spark").args["where"].this
    predicate = pushed([where], FIELDS, "q", alone=alone)
    return None if predicate is None else str(predicate)


@pytest.mark.parametrize(
    ("condition", "predicate"),
    [
        ("i = 1", "i = 1"),
        ("5 > q.L", "l < 5"),
        ("i = -1", "i = -1"),
        ("d >= 1.5", "d >= 1.5"),
        ("x < 0.5", "x < 0.5e0"),
        ("t IN ('a', 'b')", "t in ('a', 'b')"),
        ("t BETWEEN 'a' AND 'b'", "t >= 'a' and t <= 'b'"),
        ("NOT (t IS NULL OR i <> 1)", "t is not null and i = 1"),
        ("dt = '2024-01-31'", "dt = date '2024-01-31'"),
        ("dt > DATE '2024-01-31'", "dt > date '2024-01-31'"),
        ("ts < '2024-01-31 10:00:00'", "ts < timestamp '2024-01-31 10:00:00'"),
        ("b = true", "b = true"),
        ("f = 0.5", "f = 0.5e0"),
    ],
)
def test_comparisons_with_literals_of_the_type(condition, predicate):
    assert found(condition) == predicate


@pytest.mark.parametrize(
    "condition",
    [
        "i = '1'",
        "t = 1",
        "f = 0.1",
        "i = 1e3",
        "dt = '2024-1-1'",
        "dt >= '2024-01-01 12:00:00'",
        "ts = DATE '2024-01-31'",
        "z = '2024-01-31 10:00:00'",
        "i = 99999999999",
        "i + 1 = 2",
        "i = l",
        "i <=> 1",
        "other = 1",
        "p.i = 1",
        "i = NULL",
        "i IN (SELECT 1)",
        "t LIKE 'a%'",
        "i = 1 OR t = 1",
        "b",
        "true",
    ],
)
def test_everything_else_is_left_to_spark(condition):
    assert found(condition) is None


def test_a_column_without_qualifier_may_be_of_another_table():
    assert found("i = 1", alone=False) is None
    assert found("q.i = 1", alone=False) == "i = 1"

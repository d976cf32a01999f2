"""Rows of a query or a function: those that do not fit are rejects, and a column that does not fit is an error."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pyarrow as pa
import pytest

from paimon_core.errors import SchemaMismatch
from paimon_core.schema import DataField
from paimon_core.types import parse_type
from paimon_lake.declarations.sources.kinds import Kinds
from paimon_lake.loads.shapes.frame_shape import FrameShape


def shape(kinds: Kinds | None = None, **columns: str) -> FrameShape:
    fields = [DataField(at, name, parse_type(text)) for at, (name, text) in enumerate(columns.items())]
    return FrameShape("sales:daily", tuple(fields), kinds)


def divided(found: FrameShape, rows: pa.Table) -> tuple[list[Any], list[tuple[Any, ...]]]:
    parsed = found.parsed(rows)
    assert parsed.read == len(rows) == len(parsed.rows) + len(parsed.rejects)
    return [tuple(row.values()) for row in parsed.rows.to_pylist()], [
        tuple(row.values()) for row in parsed.rejects.to_pylist()
    ]


def test_a_null_in_a_key_is_a_reject() -> None:
    rows, rejects = divided(shape(id="INT NOT NULL", n="INT"), pa.table({"id": [1, None], "n": [5, 6]}))
    assert rows == [(1, 5)]
    told = "null in a column that must not be null"
    assert rejects == [("sales:daily", None, "id", told, '{"id": null, "n": 6}')]


@pytest.mark.parametrize(
    ("kind", "given", "kept", "reason"),
    [
        ("TINYINT", pa.array([1, 300]), 1, "'300' is not valid for TINYINT"),
        ("VARCHAR(2)", pa.array(["ab", "abc"]), "ab", "'abc' is not valid for VARCHAR(2)"),
        (
            "TIMESTAMP(0)",
            pa.array([1_000_000, 1], pa.timestamp("us")),
            datetime(1970, 1, 1, 0, 0, 1),
            "'1970-01-01 00:00:00.000001' is not valid for TIMESTAMP(0)",
        ),
    ],
)
def test_a_value_outside_of_the_type_is_a_reject(kind: str, given: pa.Array, kept: Any, reason: str) -> None:
    rows, rejects = divided(shape(v=kind), pa.table({"v": given}))
    assert rows == [(kept,)]
    assert [(row[2], row[3]) for row in rejects] == [("v", reason)]


@pytest.mark.parametrize("op", ["op", "id"])
def test_an_unknown_kind_is_a_reject_with_its_row(op: str) -> None:
    kinds = Kinds(column=op, insert=("1",), update=("2",), delete=("3",))
    given = pa.table({"id": pa.array([1, 2, 3, 4, None], pa.int32()), "op": ["1", "2", "3", "4", None]})
    given = given if op == "op" else given.drop_columns(["op"])
    rows, rejects = divided(shape(kinds, id="INT"), given)
    assert rows == [(1, "+I"), (2, "+U"), (3, "-D")]
    assert [row[2:4] for row in rejects] == [
        (op, "'4' is not one of 1, 2, 3"),
        (op, "null in a column that must not be null"),
    ]
    assert rejects[0][4] == ('{"id": 4, "op": "4"}' if op == "op" else '{"id": 4}')


def test_a_type_that_does_not_fit_is_an_error_also_beside_rows_that_do_not_fit() -> None:
    rows = pa.table({"id": pa.array([None], pa.int32()), "n": ["5"]})
    with pytest.raises(SchemaMismatch, match="'n' is INT and does not accept string"):
        shape(id="INT NOT NULL", n="INT").parsed(rows)


def test_a_missing_column_is_null() -> None:
    rows, _ = divided(shape(id="INT NOT NULL", n="INT"), pa.table({"id": [1, None]}))
    assert rows == [(1, None)]

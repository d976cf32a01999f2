"""parts_complete: rows of a wide table that lack a part for longer than a stated time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.table.table import Table
from paimon_lake.checks.context import CheckContext
from paimon_lake.checks.run import run_check
from paimon_lake.declarations import TableSpec
from paimon_lake.declarations.sources.parts import part_options

SPEC = {
    "name": "d.wide",
    "columns": {"id": "BIGINT", "a": "INT", "a_at": "TIMESTAMP(3)", "b": "INT", "b_at": "INT"},
    "primary_key": "id",
    "parts": {
        "first": {"source": {"type": "files", "path": "a/*.csv"}, "columns": "a", "order_by": "a_at"},
        "second": {"source": {"type": "files", "path": "b/*.csv"}, "columns": "b", "order_by": "b_at"},
    },
}


def spec_with(**check: object) -> TableSpec:
    return TableSpec.model_validate({**SPEC, "checks": [{"type": "parts_complete", "max_wait": "2 h", **check}]})


@pytest.fixture
def table(warehouse: str) -> Table:
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("d")
    kinds = {"id": pa.int64(), "a": pa.int32(), "a_at": pa.timestamp("ms"), "b": pa.int32(), "b_at": pa.int32()}
    options = {"bucket": "1", **part_options(spec_with().parts)}
    return catalog.create_table("d.wide", pa.schema(kinds.items()), primary_key=["id"], options=options)


def found(spec: TableSpec, table: Table, now: datetime) -> tuple[int, str]:
    (check,) = spec.checks
    result = run_check(check, spec, table.refresh(), context=CheckContext(now))
    return result.wrong, result.sentence


def test_a_row_waits_since_the_time_in_a_column(table: Table) -> None:
    at = datetime(2024, 1, 31, 10)
    rows = [{"id": n, "a": n, "a_at": at + timedelta(hours=n)} for n in range(4)]
    table.write([*rows, {"id": 9, "b": 1, "b_at": 1}, {"id": 8}])
    table.write([{"id": 0, "b": 7, "b_at": 1}])
    spec, now = spec_with(column="a_at", parts=["second"]), datetime(2024, 1, 31, 14, 30, tzinfo=UTC)
    assert found(spec, table, now) == (
        2,
        "2 of 6 rows have no second; keys: 1, 2; 1 row without second and without a_at not compared",
    )
    assert found(spec, table, now - timedelta(hours=2))[0] == 0


def test_without_a_column_a_row_waits_since_a_snapshot(table: Table) -> None:
    table.write([{"id": 1, "a": 1, "a_at": datetime(2024, 1, 1)}, {"id": 2, "b": 1, "b_at": 1}])
    now = datetime.now(UTC)
    assert found(spec_with(), table, now) == (0, "no snapshot is 2 h old yet: no row waits longer")
    table.write([{"id": 2, "a": 5, "a_at": datetime(2024, 1, 1)}])
    later = now + timedelta(hours=3)
    wrong, sentence = found(spec_with(), table, later)
    assert (wrong, sentence) == (1, "1 of 2 rows has no second; keys: 1")
    table.write([{"id": 1, "b": 5, "b_at": 1}], kinds=["-D"])
    assert found(spec_with(), table, later) == (0, "2 rows, none lacks a part for longer than 2 h"), "it was deleted"
    table.maintenance.apply(table.maintenance.plan_snapshot_expiry(keep_last=1, older_than=timedelta(0)))
    assert "cannot be evaluated: the snapshots before" in found(spec_with(max_wait="9 d"), table, now)[1]

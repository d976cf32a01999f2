"""Row changes: the cases that merge changes of a tenth of the rows into a table."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq

from benchmarks.spark.case import Case, Mark
from benchmarks.spark.lake import Lake, numbered_rows
from paimon_core import Table
from paimon_core.spark import merge_spark

ROWS = 6_000_000
"""The rows of the table at scale 1."""


def _rows(lake: Lake) -> int:
    return max(1_000, int(ROWS * lake.scale))


def _changes(lake: Lake) -> str:
    """Return the file of the changes: a tenth of the rows of the table, half of them with new keys."""
    path = lake.folder / "changes.parquet"
    if not Path(path).exists():
        rows = _rows(lake)
        pq.write_table(numbered_rows(rows // 2, rows // 10, 10), path)
    return str(path)


def _target(lake: Lake, name: str) -> Table:
    """Return the table with all rows, as it was before the last merge."""

    def make() -> Table:
        rows = numbered_rows(0, _rows(lake))
        options = {"bucket": "4"} if name == "a primary key" else {"deletion-vectors.enabled": "true"}
        key = ["id"] if name == "a primary key" else []
        table = lake.create("merged", rows.schema, primary_key=key, options=options)
        table.write(rows)
        return table

    _changes(lake)
    return lake.again(f"merged, {name}", make)


def merge_cases() -> list[Case]:
    """Return the cases of merges, with a primary key and with deletion vectors."""

    def pair(name: str) -> list[Case]:
        peer = f"merge, {name}: by the library"

        def by_library(lake: Lake) -> object:
            return _target(lake, name).merge(pq.read_table(_changes(lake)), on=["id"])

        def by_spark(lake: Lake) -> object:
            changes = lake.spark.read.parquet(_changes(lake))
            return merge_spark(lake.spark, _target(lake, name), changes, on=["id"])

        def prepare(lake: Lake) -> object:
            return _target(lake, name)

        return [
            Case(peer, by_library, prepare=prepare),
            Case(f"merge, {name}", by_spark, peer, Mark(plus=20.0), prepare=prepare),
        ]

    return [*pair("a primary key"), *pair("deletion vectors")]

"""Partitions: the cases of tables of many small buckets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.spark.case import Case, Mark
from benchmarks.spark.lake import Lake
from benchmarks.spark.reads import consumed
from paimon_core import Table
from paimon_core.spark import compact_spark, read_spark, write_spark

SMALL, MANY = 1_000, 10_000
Work = Callable[[Lake], object]


def _rows(lake: Lake, partitions: int, every: int) -> pa.Table:
    """Return every ``every``-th order, in partitions of about equal size."""
    rows = pq.read_table(lake.source("orders"), columns=["o_orderkey", "o_totalprice", "o_clerk"])
    rows = pa.table([rows[0], rows[1].cast(pa.float64()), rows[2].cast(pa.string())], ["id", "price", "clerk"])
    rows = rows.take(pa.array(np.arange(0, len(rows), every)))
    part = pa.array(np.arange(len(rows), dtype=np.int32) % partitions)
    return rows.add_column(0, "part", part)


def _table(lake: Lake, buckets: int, **options: str) -> Table:
    fields = [pa.field("part", pa.int32(), nullable=False), pa.field("id", pa.int64(), nullable=False)]
    schema = pa.schema([*fields, ("price", pa.float64()), ("clerk", pa.string())])
    options = {"bucket": str(buckets), **options}
    return lake.create("parts", schema, primary_key=["part", "id"], partition_by=["part"], options=options)


def _source(lake: Lake, partitions: int, every: int) -> str:
    path = lake.folder / f"{partitions}.parquet"
    if not Path(path).exists():
        pq.write_table(_rows(lake, partitions, every), path)
    return str(path)


def _small(lake: Lake) -> str:
    """Return the file of the rows of SMALL partitions: every tenth order."""
    return _source(lake, SMALL, 10)


def _two_runs(lake: Lake) -> Table:
    """Return the table of SMALL partitions with two sorted runs in each bucket."""

    def make() -> Table:
        table, rows = _table(lake, 2, **{"write-only": "true"}), pq.read_table(_small(lake))
        table.write(rows)
        table.write(rows)
        return table

    return lake.again("two runs", make)


def partition_cases() -> list[Case]:
    """Return the cases of SMALL partitions of 2 buckets, and of MANY partitions in one write."""

    def pair(what: str, prepare: Work, library: Work, spark: Work) -> list[Case]:
        peer, name = f"{SMALL:,} partitions: {what} by the library", f"{SMALL:,} partitions: {what}"
        return [Case(peer, library, prepare=prepare), Case(name, spark, peer, Mark(times=1.5), prepare=prepare)]

    many = f"{MANY:,} partitions: one write"
    return [
        *pair(
            "written",
            _small,
            lambda lake: _table(lake, 2).write(pq.read_table(_small(lake))),
            lambda lake: write_spark(lake.spark.read.parquet(_small(lake)), _table(lake, 2)),
        ),
        *pair(
            "read",
            _two_runs,
            lambda lake: _two_runs(lake).scan().to_arrow(),
            lambda lake: consumed(read_spark(lake.spark, _two_runs(lake))),
        ),
        *pair(
            "compacted",
            _two_runs,
            lambda lake: _two_runs(lake).compact(full=True),
            lambda lake: compact_spark(lake.spark, _two_runs(lake), full=True),
        ),
        Case(
            f"{many} by the library",
            lambda lake: _table(lake, 1).write(pq.read_table(_source(lake, MANY, 1))),
            prepare=lambda lake: _source(lake, MANY, 1),
            once=True,
            memory=True,
        ),
        Case(
            many,
            lambda lake: write_spark(lake.spark.read.parquet(_source(lake, MANY, 1)), _table(lake, 1)),
            f"{many} by the library",
            prepare=lambda lake: _source(lake, MANY, 1),
            once=True,
            memory=True,
        ),
    ]

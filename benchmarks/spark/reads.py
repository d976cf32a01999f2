"""Reads: the cases that read compacted files, and three sorted runs that must be merged."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from benchmarks.spark.case import Case, Mark
from benchmarks.spark.lake import KEYS, Lake
from paimon_core import Table
from paimon_core.spark import read_spark

TWO = {"orders": ["o_orderkey", "o_totalprice"], "lineitem": ["l_orderkey", "l_extendedprice"]}
GROUPS = {"orders": "o_orderpriority", "lineitem": "l_shipmode"}


def read_cases(name: str) -> list[Case]:
    """Return the cases of reads of a table of TPC-H."""
    return [*_compacted(name), *_merged(name)]


def _compacted(name: str) -> list[Case]:
    files: list[str] = []
    schemas: list[StructType] = []
    """The files and the columns of the table, for the peer that reads the same files."""

    def table(lake: Lake) -> Table:
        def make() -> Table:
            made = lake.table(name, write_only=True)
            made.write(lake.rows(name))
            made.compact(full=True)
            return made

        found = lake.once(f"{name}, compacted", make)
        if not files:
            frame = read_spark(lake.spark, found)
            files.extend(frame.inputFiles())
            schemas.append(frame.schema)
        return found

    def ours(lake: Lake) -> DataFrame:
        return read_spark(lake.spark, table(lake))

    def plain(lake: Lake) -> DataFrame:
        return lake.spark.read.schema(schemas[0]).parquet(*files)

    def pair(what: str, query: Callable[[DataFrame], object]) -> list[Case]:
        peer = f"{name}: Spark's Parquet reader, {what}"
        return [
            Case(peer, lambda lake: query(plain(lake)), prepare=table),
            Case(f"{name}: compacted, {what}", lambda lake: query(ours(lake)), peer, Mark(times=1.05), prepare=table),
        ]

    def summed(frame: DataFrame) -> object:
        return frame.groupBy(GROUPS[name]).agg(F.sum(TWO[name][1])).collect()

    return [*pair("all columns", consumed), *pair("sum by group", summed)]


def _merged(name: str) -> list[Case]:
    def table(lake: Lake) -> Table:
        def make() -> Table:
            made, rows = lake.table(name, write_only=True), lake.rows(name)
            numbers = rows[KEYS[name][0]].to_numpy()
            made.write(rows)
            for part in (2, 3):
                made.write(rows.filter(pa.array(numbers % part == 0)))
            return made

        return lake.once(f"{name} in three runs", make)

    def pair(what: str, columns: list[str] | None) -> list[Case]:
        peer = f"{name}: three runs by the library, {what}"
        return [
            Case(peer, lambda lake: table(lake).scan(columns).to_arrow(), prepare=table),
            Case(
                f"{name}: three runs merged, {what}",
                lambda lake: consumed(read_spark(lake.spark, table(lake), columns)),
                peer,
                Mark(times=1.5),
                prepare=table,
            ),
        ]

    return [*pair("all columns", None), *pair("two columns", TWO[name])]


def consumed(frame: DataFrame) -> None:
    """Compute every row and column, without writing them."""
    frame.write.format("noop").mode("overwrite").save()

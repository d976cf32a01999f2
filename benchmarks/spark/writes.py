"""Writes: the cases that write the rows of a table of TPC-H."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.spark.case import Case, Mark
from benchmarks.spark.lake import Lake
from paimon_core import Table
from paimon_core.spark import write_files_spark, write_spark


def write_cases(name: str) -> list[Case]:
    """Return the cases of writes of a table of TPC-H."""
    plain, from_frame = f"{name}: plain Parquet through Spark", f"{name}: from a DataFrame"

    def plainly(lake: Lake) -> None:
        lake.frame(name).write.parquet(str(lake.folder / "plain"), mode="overwrite")

    def alone(lake: Lake) -> object:
        file = pq.ParquetFile(lake.source(name))
        return lake.table(name).write(pa.RecordBatchReader.from_batches(file.schema_arrow, file.iter_batches()))

    def files(lake: Lake) -> object:
        return write_files_spark(lake.spark, lake.table(name), lake.source(name), "parquet")

    def full(lake: Lake) -> Table:
        table = lake.table(name)
        table.write(lake.rows(name))
        return table

    def refreshed(lake: Lake) -> Table:
        lake.refresh(name)
        return lake.again(f"{name} with all rows", lambda: full(lake))

    def upsert_frame(lake: Lake) -> object:
        return write_spark(lake.spark.read.parquet(lake.refresh(name)), refreshed(lake))

    def upsert_files(lake: Lake) -> object:
        return write_files_spark(lake.spark, refreshed(lake), lake.refresh(name), "parquet")

    upsert = Mark(times=0.2)
    return [
        Case(plain, plainly),
        Case(f"{name}: library alone", alone, plain),
        Case(f"{name}: from files", files, plain, Mark(times=0.7)),
        Case(from_frame, lambda lake: write_spark(lake.frame(name), lake.table(name)), plain, Mark(times=1.3)),
        Case(
            f"{name}: append",
            lambda lake: write_spark(lake.frame(name), lake.table(name, keyed=False)),
            plain,
            Mark(times=1.0),
        ),
        Case(f"{name}: upsert of 10 %, from a DataFrame", upsert_frame, from_frame, upsert, prepare=refreshed),
        Case(f"{name}: upsert of 10 %, from files", upsert_files, from_frame, upsert, prepare=refreshed),
    ]

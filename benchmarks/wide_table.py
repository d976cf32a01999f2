"""Processor seconds to keep a wide table of four parts up to date, beside the four-way join made anew.

Four sources of Parquet files have the same keys. After the first load a share of the rows of each source changes. The
parts load only the files with the changes; Spark joins the four whole sources again and writes Parquet. The compaction
that the table needs at some time is shown too. ``python -m benchmarks.wide_table --rows 5000000``
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from benchmarks.changes import timed
from paimon_core.spark import compact_spark
from paimon_lake.session import start_session
from tests.support.lakes import SmallLake, small_lake

PARTS = ("schedule", "departure", "arrival", "weather")
FILES = 4
ROUNDS = 3


def rows_of(ids: np.ndarray, part: str, version: int) -> pa.Table:
    """Return the rows of a part: the key, the order, a number and a text."""
    values = ids * 7 + version
    texts = np.char.add(f"{part} ", (values % 100_003).astype(str))
    return pa.table(
        {"id": ids, f"{part}_at": np.full(len(ids), version), f"{part}_n": values / 3.0, f"{part}_text": texts}
    )


def declare(lake: SmallLake, rows: int) -> None:
    """Declare the wide table with a bucket for about a million rows."""
    columns = "".join(f", {part}_at: BIGINT, {part}_n: DOUBLE, {part}_text: STRING" for part in PARTS)
    parts = "".join(
        f"  {part}:\n    source: {{type: files, path: 'data/{part}/*.parquet'}}\n"
        f"    columns: [{part}_n, {part}_text]\n    order_by: {part}_at\n"
        for part in PARTS
    )
    buckets = max(1, rows // 1_000_000)
    lake.declare(
        "shop.wide",
        f"columns: {{id: BIGINT{columns}}}\nprimary_key: id\noptions: {{bucket: {buckets}}}\nparts:\n{parts}",
    )


def join(spark: SparkSession, folder: Path) -> Callable[[], None]:
    """Return the work of the join: the newest rows of each source, read from its files of the last round."""

    def work() -> None:
        joined = None
        for part in PARTS:
            source = spark.read.parquet(str(folder / "whole" / part))
            joined = source if joined is None else joined.join(source, "id", "full")
        joined.write.mode("overwrite").parquet(str(folder / "joined"))

    return work


def write_source(folder: Path, part: str, ids: np.ndarray, version: int) -> None:
    """Write files of a part in the folder of its source, and, for the first version, the whole source of the join."""
    for number, some in enumerate(np.array_split(ids, FILES)):
        rows = rows_of(some, part, version)
        pq.write_table(rows, folder / "data" / part / f"{version}-{number}.parquet", compression="zstd")
        if version == 1:
            pq.write_table(rows, folder / "whole" / part / f"{number}.parquet", compression="zstd")


def main() -> None:
    """Time the loads of the parts and the join after changes of a share of the rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--percent", type=float, default=1.0)
    asked = parser.parse_args()
    chance = np.random.default_rng(7)
    with tempfile.TemporaryDirectory() as name:
        lake = small_lake(Path(name))
        for part in PARTS:
            (lake.folder / "data" / part).mkdir(parents=True)
            (lake.folder / "whole" / part).mkdir(parents=True)
            write_source(lake.folder, part, np.arange(asked.rows), 1)
        declare(lake, asked.rows)
        lake.session = start_session(lake.settings)

        def load(count: int) -> None:
            result = lake.load("shop.wide")
            assert result.details["rows_read"] == count, result

        timed("first load of four parts", 4 * asked.rows, lambda: load(4 * asked.rows))
        changed = int(asked.rows * asked.percent / 100)
        for version in range(2, 2 + ROUNDS):
            for part in PARTS:
                write_source(lake.folder, part, np.sort(chance.choice(asked.rows, changed, replace=False)), version)
            timed("load of the changed rows by parts", 4 * changed, lambda: load(4 * changed))
            timed("four-way join made anew, Parquet", asked.rows, join(lake.spark(), lake.folder))
        table = lake.table("shop.wide")
        timed("full compaction after all rounds", asked.rows, lambda: compact_spark(lake.spark(), table, full=True))
        lake.session.stop()


if __name__ == "__main__":
    main()

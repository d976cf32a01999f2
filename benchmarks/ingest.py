"""Time loads of a folder of CSV files beside Spark reading the same files and writing them as plain Parquet.

``python -m benchmarks.ingest --rows 5000000`` prints seconds and processor seconds of both, warm, in one session.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.csv
from pyspark.sql import SparkSession

from paimon_lake.declarations import load_settings
from paimon_lake.loads.load import load_table
from paimon_lake.session import start_session

FILES = 10
COLUMNS = """
columns:
  id: BIGINT
  customer: INT
  amount: DECIMAL(10, 2)
  weight: DOUBLE
  name: STRING
  status: STRING
  at: TIMESTAMP(6)
  day: DATE
"""
SPARK = (
    "id LONG, customer INT, amount DECIMAL(10, 2), weight DOUBLE, name STRING, status STRING, at TIMESTAMP_NTZ, "
    "day DATE"
)
TABLES = {
    "bench.append": "natural_key: [id]\nmode: append\n",
    "bench.keyed": "primary_key: [id]\noptions: {bucket: 2}\n",
}


def main() -> None:
    """Make the files, then load them into both tables and write them with Spark, in turns."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ingest-") as folder:
        lake = Path(folder)
        size = write_files(lake / "data", asked.rows)
        print(f"{asked.rows:,} rows in {FILES} files, {size / 1e6:.0f} MB")
        declare(lake)
        session = start_session(load_settings("local", configs=lake))
        for name, seconds in rounds(lake, session, asked.rounds).items():
            wall, processor = (statistics.median(column) for column in zip(*seconds, strict=True))
            print(f"{name:14} {wall:6.1f} s  {processor:6.1f} processor s  {asked.rows / wall:12,.0f} rows/s")
        session.stop()


def rounds(lake: Path, session: SparkSession, count: int) -> dict[str, list[tuple[float, float]]]:
    """Return the (seconds, processor seconds) of each round; the first round warms up and is left out."""
    found: dict[str, list[tuple[float, float]]] = {}
    for number in range(count + 1):
        shutil.rmtree(lake / "warehouse", ignore_errors=True)
        settings = load_settings("local", configs=lake)
        work: dict[str, Callable[[], object]] = {
            name: partial(load_table, lambda: session, settings, name) for name in TABLES
        }
        work["spark parquet"] = partial(spark_parquet, session, lake)
        for name, run in work.items():
            took = timed(run)
            if number:
                found.setdefault(name, []).append(took)
    return found


def spark_parquet(session: SparkSession, lake: Path) -> None:
    """Read the files with Spark's reader and write them as Parquet with the same compression."""
    rows = session.read.schema(SPARK).option("header", True).csv(str(lake / "data"))
    rows.write.mode("overwrite").option("compression", "zstd").parquet(str(lake / "parquet"))


def timed(run: Callable[[], object]) -> tuple[float, float]:
    """Return the seconds and the processor seconds of this process, the JVM and its Python workers."""
    before, started = processor_seconds(), time.monotonic()
    run()
    return time.monotonic() - started, processor_seconds() - before


def processor_seconds() -> float:
    """Return the processor seconds of this process and of its children, living and ended."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    total = own.ru_utime + own.ru_stime
    for child in psutil.Process().children(recursive=True):
        times = child.cpu_times()
        total += times.user + times.system + times.children_user + times.children_system
    return total


def write_files(folder: Path, rows: int) -> int:
    """Write the CSV files and return their size in bytes."""
    folder.mkdir()
    random = np.random.default_rng(7)
    per_file = rows // FILES
    for number in range(FILES):
        ids = np.arange(number * per_file, (number + 1) * per_file)
        random.shuffle(ids)
        cents = random.integers(0, 10_000_000, per_file)
        table = pa.table(
            {
                "id": ids,
                "customer": random.integers(0, 1_000_000, per_file, dtype=np.int32),
                "amount": pa.array(cents).cast(pa.decimal128(20, 0)).cast(pa.decimal128(10, 2), safe=False),
                "weight": random.random(per_file),
                "name": pa.array([f"customer {n}" for n in random.integers(0, 100_000, per_file)]),
                "status": pa.array(["open", "paid", "sent", "cancelled"]).take(random.integers(0, 4, per_file)),
                "at": pa.array(
                    random.integers(1_700_000_000_000_000, 1_710_000_000_000_000, per_file), pa.timestamp("us")
                ),
                "day": pa.array(random.integers(19_000, 19_800, per_file, dtype=np.int32), pa.date32()),
            }
        )
        pyarrow.csv.write_csv(table, folder / f"{number:02}.csv")
    return sum(path.stat().st_size for path in folder.iterdir())


def declare(lake: Path) -> None:
    """Write the declarations of both tables."""
    (lake / "tables").mkdir()
    (lake / "base.yaml").write_text("warehouse: warehouse\n")
    (lake / "local.yaml").write_text("spark: {master: 'local[2]', conf: {spark.driver.memory: 2g}}\n")
    for name, more in TABLES.items():
        source = f"source: {{type: files, path: {lake}/data/*.csv}}\n"
        (lake / "tables" / f"{name}.yaml").write_text(COLUMNS + more + source)


if __name__ == "__main__":
    main()

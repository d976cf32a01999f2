"""Lake: the files of TPC-H, and tables for their rows."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

import paimon_core
from paimon_core import Table

KEYS = {"orders": ["o_orderkey"], "lineitem": ["l_orderkey", "l_linenumber"]}
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "4g",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.session.timeZone": "UTC",
    "spark.python.daemon.module": "paimon_core.spark.daemon",
    "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "false",
    "spark.executorEnv.PYTHONPATH": str(Path(__file__).resolve().parents[2]),
}
"""The settings of all sessions: Python workers start with this package imported."""


@dataclass
class Lake:
    """The files of TPC-H, and new tables for their rows."""

    folder: Path
    spark: SparkSession
    scale: float = 1.0
    repeats: int = 1
    """The number of measured runs of cases that start their own sessions."""
    kept: dict[str, Table] = field(default_factory=dict)
    """The tables that several cases use."""
    made: dict[str, int] = field(default_factory=dict)
    """The snapshots to which the tables of ``again`` return."""

    def source(self, name: str) -> str:
        """Return the path of the Parquet file of a table of TPC-H."""
        return str(self.folder / f"{name}.parquet")

    def rows(self, name: str) -> pa.Table:
        """Return the rows of a table of TPC-H, with the types of ``table``."""
        rows = pq.read_table(self.source(name))
        return rows.cast(self.schema(name))

    def frame(self, name: str) -> DataFrame:
        """Return the rows of a table of TPC-H."""
        return self.spark.read.parquet(self.source(name))

    def schema(self, name: str, *, keyed: bool = True) -> pa.Schema:
        """Return the columns of a table of TPC-H, with a key that is not null if the table is ``keyed``."""
        key = KEYS[name] if keyed else []
        return pa.schema([_column(f, f.name in key) for f in pq.read_schema(self.source(name))])

    def table(self, name: str, *, keyed: bool = True, write_only: bool = False) -> Table:
        """Create a table for the rows of a table of TPC-H; with a key, it has 4 buckets."""
        key = KEYS[name] if keyed else []
        options = {"bucket": "4"} if keyed else {}
        if write_only:
            options["write-only"] = "true"
        return self.create(name, self.schema(name, keyed=keyed), primary_key=key, options=options)

    def create(self, name: str, schema: pa.Schema, **arguments: object) -> Table:
        """Create a table with a number after its name; the arguments are those of ``create_table``."""
        catalog = paimon_core.open_catalog(str(self.folder / "lake"))
        catalog.create_database("db", ignore_if_exists=True)
        number = len(catalog.list_tables("db")) + 1
        return catalog.create_table(f"db.{name}_{number}", schema, **arguments)  # type: ignore[arg-type]

    def once(self, name: str, make: Callable[[], Table]) -> Table:
        """Return the table of this name, which ``make`` creates the first time."""
        if name not in self.kept:
            self.kept[name] = make()
        return self.kept[name]

    def again(self, name: str, make: Callable[[], Table]) -> Table:
        """Return the table of ``once`` in the state in which ``make`` has left it."""
        table = self.once(name, make)
        latest = _latest(table)
        state = self.made.setdefault(name, latest)
        if latest != state:
            table.rollback(snapshot=state)
        return table

    def refresh(self, name: str) -> str:
        """Return the path of a file of changes: a tenth of the rows of a table, half of them with new keys.

        The new keys are in the gaps of the keys of TPC-H, as in its refresh streams.
        """
        path = self.folder / f"{name}_refresh.parquet"
        if not path.exists():
            rows = self.rows(name)
            key = KEYS[name][0]
            numbers = rows[key].to_numpy()
            changed = rows.filter(pa.array(numbers % 20 == 0))
            added = rows.filter(pa.array(numbers % 20 == 1))
            at = rows.schema.get_field_index(key)
            shifted = pc.add(added[key], pa.scalar(8, added[key].type))
            added = added.set_column(at, rows.schema.field(at), shifted)
            pq.write_table(pa.concat_tables([changed, added]), path)
        return str(path)


def numbered_rows(first: int, count: int, step: int = 1) -> pa.Table:
    """Return ``count`` rows of three columns with every ``step``-th id from ``first`` on."""
    ids = np.arange(first, first + count * step, step, dtype=np.int64)
    prices = (ids * 37 % 10_007).astype(np.float64) / 100
    clerks = pc.binary_join_element_wise("clerk", pc.cast(pa.array(ids % 1000), pa.string()), "#")
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("price", pa.float64()), ("clerk", pa.string())])
    return pa.table([pa.array(ids), pa.array(prices), clerks], schema=schema)


def generated(folder: Path, scale: float) -> None:
    """Generate the tables of TPC-H as Parquet files."""
    program = Path(sys.executable).with_name("tpchgen-cli")
    tables = ",".join(KEYS)
    subprocess.run(
        [str(program), "parquet", "-q", "-s", f"{scale:g}", f"--tables={tables}", f"--output-dir={folder}"], check=True
    )


def _column(column: pa.Field, is_key: bool) -> pa.Field:
    kind = pa.string() if column.type == pa.string_view() else column.type
    return pa.field(column.name, kind, nullable=not is_key)


def _latest(table: Table) -> int:
    """Return the id of the latest snapshot."""
    snapshot = table.latest_snapshot()
    if snapshot is None:
        raise ValueError(f"table {table.name} has no snapshot")
    return snapshot.id

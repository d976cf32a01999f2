"""A small lake for tests: orders by day from CSV files, customers from one file, and revenue by month in SQL."""

from __future__ import annotations

import shutil
from datetime import date, timedelta
from pathlib import Path

from paimon_lake.declarations import Settings, load_settings
from tests.support.project import CONFIGS

TABLES = {
    "shop.orders": """\
comment: orders, each as last reported
columns: {month: STRING, day: DATE, id: BIGINT, customer: STRING, amount: INT}
primary_key: [month, id]
partition_by: [month]
options: {num-sorted-run.compaction-trigger: "2"}
source: {type: files, path: 'data/{date}.csv'}
partitions: {by: day, start: 2024-01-15, end: 2024-02-14, column: day}
backfill_per_run: 31
compaction: {start_at_runs: 2, stop_at_runs: 1}
checks: [{type: unique}]
""",
    "shop.customers": """\
columns: {id: STRING, name: STRING}
primary_key: [id]
source: {type: files, path: customers.csv, changed: load}
mode: overwrite
retention: {keep_snapshots: 10, keep_hours: 0}
""",
    "dws.revenue": """\
columns: {month: STRING, customer: STRING, revenue: BIGINT}
primary_key: [month, customer]
partition_by: [month]
source:
  type: sql
  inputs: [shop.orders]
  query: SELECT month, customer, sum(amount) AS revenue FROM shop.orders GROUP BY month, customer
partitions: {by: month, start: 2024-01-01, end: 2024-02-29, column: month}
schedule: {on: inputs}
""",
}
DAYS = [date(2024, 1, 15) + timedelta(days=n) for n in range(31)]
ORDERS_A_DAY = 2


def orders_lake(folder: Path, more: str = "") -> Settings:
    """Write declarations and files of all days; ``more`` is added to the settings of all environments."""
    write_tables(folder)
    (folder / "base.yaml").write_text("warehouse: warehouse\n" + more)
    (folder / "local.yaml").write_text("spark: {master: 'local[2]', conf: {spark.ui.enabled: 'false'}}\n")
    return load_settings("local", configs=folder)


def environments_of_the_project(folder: Path) -> Path:
    """Copy the settings of the project's environments into a folder, without any table; return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in CONFIGS.glob("*.yaml"):
        shutil.copy(path, folder)
    return folder


def write_tables(folder: Path) -> None:
    """Write the declarations of the tables and the files that they are loaded from."""
    for name in ("tables", "data"):
        (folder / name).mkdir(parents=True)
    for table, text in TABLES.items():
        (folder / "tables" / f"{table}.yaml").write_text(text)
    for number, day in enumerate(DAYS):
        rows = [f"{day:%Y-%m},{day},{number * ORDERS_A_DAY + n},c{n},{n + 1}" for n in range(ORDERS_A_DAY)]
        (folder / "data" / f"{day}.csv").write_text("\n".join(["month,day,id,customer,amount", *rows, ""]))
    (folder / "customers.csv").write_text("id,name\nc0,Ada\nc1,Ben\n")

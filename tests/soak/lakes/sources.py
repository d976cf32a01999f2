"""Sources: the declared lake of the soak, the files that it loads, and what its tables must contain.

Three tables are loaded from files, two are derived. Every file is replaced by a rename. What the tables must contain is
computed from the files with the csv module alone.

A row of ``shop.orders`` carries a version that only grows, and the greatest wins: so the order of the loads does not
matter, and a file never drops a key. The rows of ``shop.events`` and ``shop.days`` are exactly the rows of their files.
"""

from __future__ import annotations

import csv
import os
import random
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from paimon_lake.declarations import Settings, load_settings

DAYS = ("2024-01-01", "2024-01-02", "2024-01-03", "2024-01-04")
KEYS = 30
_OF_DAYS = "{by: day, column: day, start: 2024-01-01, end: 2024-01-04}"
TABLES = {
    "shop.orders": f"""\
columns: {{day: DATE, id: BIGINT, version: BIGINT, amount: INT}}
primary_key: [day, id]
partition_by: [day]
order_by: version
source: {{type: files, path: 'landing[1]/orders/{{date}}/*.csv', changed: load}}
partitions: {_OF_DAYS}
rejects: {{max_share: 1.0}}
options: {{num-sorted-run.compaction-trigger: "3", sequence.field: version}}
retention: {{keep_snapshots: 5, keep_hours: 0}}
""",
    "shop.events": f"""\
columns: {{day: DATE, n: BIGINT, text: STRING}}
partition_by: [day]
mode: overwrite-partitions
source: {{type: files, path: 'landing[1]/events/{{date}}*.csv', changed: load}}
partitions: {_OF_DAYS}
rejects: {{max_share: 1.0}}
retention: {{keep_snapshots: 5, keep_hours: 0}}
""",
    "shop.daily": f"""\
columns: {{day: DATE, orders: BIGINT, amount: BIGINT}}
partition_by: [day]
source:
  type: sql
  inputs: [shop.orders]
  query: SELECT day, count(*) AS orders, sum(amount) AS amount FROM shop.orders GROUP BY day
partitions: {_OF_DAYS}
retention: {{keep_snapshots: 5, keep_hours: 0}}
""",
    "shop.totals": """\
columns: {name: STRING, value: BIGINT}
source:
  type: sql
  inputs: [shop.daily, shop.events]
  query: >
    SELECT 'amount' AS name, sum(amount) AS value FROM shop.daily
    UNION ALL SELECT 'events', count(*) FROM shop.events
retention: {keep_snapshots: 5, keep_hours: 0}
""",
}
BASE = """\
warehouse: warehouse
spark: {master: 'local[1]', conf: {spark.ui.enabled: 'false', spark.driver.memory: 512m}}
"""
Rows = Counter[tuple[Any, ...]]


def write_lake(folder: Path) -> None:
    """Write the declarations; the folders of the files are empty, beside one that a pattern must not reach."""
    for name in ("tables", "landing[1]/orders", "landing[1]/events", "landing1/orders", "landing1/events"):
        (folder / name).mkdir(parents=True)
    (folder / "base.yaml").write_text(BASE)
    (folder / "local.yaml").write_text("")
    for name, text in TABLES.items():
        (folder / "tables" / f"{name}.yaml").write_text(text)
    (folder / "landing1" / "events" / f"{DAYS[0]}.csv").write_text(f"day,n,text\n{DAYS[0]},-1,of a sibling folder\n")


def settings_of(folder: Path) -> Settings:
    """Read the declarations of the lake in a folder."""
    return load_settings("local", configs=folder)


# -- the editor


class Editor:
    """Adds, changes, replaces and touches source files at random. One process has one editor."""

    def __init__(self, folder: Path, chance: random.Random) -> None:
        self._landing, self._chance = folder / "landing[1]", chance
        self._version = 1 + max((version for *_, version, _ in _orders(folder)), default=0)

    def edit(self) -> str:
        """Do one edit, and return what it was."""
        kind = self._chance.choice(("add", "add", "change", "change", "touch", "copy", "empty"))
        day = self._chance.choice(DAYS)
        files = sorted(self._landing.glob("*/**/*.csv"))
        if kind == "add" or not files:
            name = f"{day}/{self._chance.randrange(4)}" if self._chance.random() < 0.5 else ""
            path = self._landing / (f"orders/{name}.csv" if name else f"events/{day}-{self._chance.randrange(2)}.csv")
            kind = "add" if not path.exists() else "change"
            self._replace(path)
            return f"{kind} {path.relative_to(self._landing)}"
        path = self._chance.choice(files)
        if kind == "touch":
            os.utime(path)
        elif kind == "copy":
            copy = path.with_suffix(".tmp")
            shutil.copyfile(path, copy)
            copy.rename(path)
        elif kind == "empty" and path.parent.name == "events":
            self._rename(path, ["day,n,text"])
        else:
            self._replace(path)
        return f"{kind} {path.relative_to(self._landing)}"

    def _replace(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = self._events(path) if path.parent.name == "events" else self._orders(path)
        self._rename(path, lines)

    def _rename(self, path: Path, lines: list[str]) -> None:
        unfinished = path.with_suffix(".part.tmp")
        unfinished.write_text("\n".join([*lines, ""]))
        unfinished.rename(path)

    def _events(self, path: Path) -> list[str]:
        day = path.name[:10]
        rows = [
            f"{day},{self._number()},{'x' * self._chance.randint(1, 50)}" for _ in range(self._chance.randrange(40))
        ]
        return ["day,n,text", *rows]

    def _orders(self, path: Path) -> list[str]:
        """Return the lines of a file: all keys that it had, with new versions, and some more, also of earlier days."""
        had = {(row[0], row[1]) for row in _rows_of(path, 4)} if path.exists() else set()
        days = [day for day in DAYS if day <= path.parent.name]
        more = {(self._chance.choice(days), str(self._chance.randrange(KEYS))) for _ in range(10)}
        lines = ["day,id,version,amount"]
        for day, key in sorted(had | more):
            self._version += 1
            lines.append(f"{day},{key},{self._version},{self._chance.randrange(100)}")
        return [*lines, f"{path.parent.name},{self._number()},1,bad"] if self._chance.random() < 0.3 else lines

    def _number(self) -> str:
        return "bad" if self._chance.random() < 0.05 else str(self._chance.randrange(1000))


# -- the model


def expected(folder: Path) -> dict[str, Rows]:
    """Return the rows that each table must have when everything is loaded."""
    newest: dict[tuple[str, str], tuple[int, int]] = {}
    for day, key, version, amount in _orders(folder):
        newest[day, key] = max(newest.get((day, key), (0, 0)), (version, amount))
    orders = Counter((day, int(key), version, amount) for (day, key), (version, amount) in newest.items())
    events = Counter((day, int(n), text) for day, n, text in _good(_events(folder), 1))
    daily = Counter(daily_of(orders))
    totals = totals_of(daily, events)
    return {"shop.orders": orders, "shop.events": events, "shop.daily": daily, "shop.totals": totals}


def daily_of(orders: Rows) -> list[tuple[Any, ...]]:
    """Return the rows of ``shop.daily`` for rows of ``shop.orders``."""
    days = sorted({row[0] for row in orders})
    amounts = {day: [row[3] for row in orders if row[0] == day] for day in days}
    return [(day, len(of_day), sum(of_day)) for day, of_day in amounts.items()]


def totals_of(daily: Rows, events: Rows) -> Rows:
    """Return the rows of ``shop.totals`` for the rows of its inputs."""
    amounts = [row[2] for row in daily]
    return Counter([("amount", sum(amounts) if amounts else None), ("events", events.total())])


def expected_rejects(folder: Path) -> dict[str, int]:
    """Return how many rows of the present files are rejected, by table."""
    bad = sum(1 for *_, amount in _raw_orders(folder) if amount == "bad")
    return {"shop.orders": bad, "shop.events": sum(1 for row in _events(folder) if row[1] == "bad")}


def _orders(folder: Path) -> Iterator[tuple[str, str, int, int]]:
    for day, key, version, amount in _raw_orders(folder):
        if key != "bad" and amount != "bad":
            yield day, key, int(version), int(amount)


def _raw_orders(folder: Path) -> Iterator[list[str]]:
    for path in sorted((folder / "landing[1]" / "orders").glob("*/*.csv")):
        yield from _rows_of(path, 4, all_rows=True)


def _events(folder: Path) -> Iterator[list[str]]:
    for path in sorted((folder / "landing[1]" / "events").glob("*.csv")):
        yield from _rows_of(path, 3, all_rows=True)


def _rows_of(path: Path, width: int, *, all_rows: bool = False) -> list[list[str]]:
    with open(path, newline="") as file:
        rows = [row for row in list(csv.reader(file))[1:] if len(row) == width]
    return rows if all_rows else [row for row in rows if "bad" not in row]


def _good(rows: Iterator[list[str]], number: int) -> Iterator[list[str]]:
    return (row for row in rows if row[number] != "bad")

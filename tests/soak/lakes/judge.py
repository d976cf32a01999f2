"""Judge: checks between two rounds that out-of-date tables are told, and that loads restore what the sources say."""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from paimon_core.errors import NotFound, PaimonError
from paimon_core.table.table import Table
from paimon_lake.check_result import CheckResult
from paimon_lake.loads.load import load_table
from paimon_lake.protocol import PipelineError, StepResult
from paimon_lake.session import start_session
from paimon_lake.steps.audits.audit import audit
from paimon_lake.tables import open_lake, open_table
from tests.soak.lakes.sources import (
    TABLES,
    Rows,
    daily_of,
    expected,
    expected_rejects,
    settings_of,
    totals_of,
)

ROOT = Path(__file__).resolve().parents[3]
PASSES = 4
"""The last of so many loads of all tables finds nothing to do: the others are one for each level of tables."""


class Judge:
    """Compares the tables of a lake with the model of its sources."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._settings = settings_of(folder)
        self.loads = self.damages = 0
        self._row_counts: dict[str, int] = {}
        self._lost_files: set[str] = set()
        """Tables that lost a data file: older snapshots need it until they expire, which fsck says."""

    def summary(self) -> str:
        """Return the numbers of rows of the tables."""
        return ", ".join(f"{name} {count} rows" for name, count in self._row_counts.items())

    def judge(self, chance: random.Random) -> list[str]:
        """Return what is wrong, in sentences."""
        problems = []
        steps = [self._untold, self._settle, self._compare]
        if chance.random() < 0.75:
            steps.insert(1, lambda: self._damage_and_repair(chance))
        for step in steps:
            try:
                problems += step()
            except PaimonError as error:
                problems.append(f"{type(error).__name__}: {error}")
        return problems

    # -- what is out of date is told

    def _untold(self) -> list[str]:
        """Return the tables that are not what their sources say although no command says so."""
        lake = open_lake(self._settings)
        have = {name: self._rows(name) for name in TABLES if lake.table_exists(name)}
        empty: Rows = Counter()
        of_files = expected(self._folder)
        due = {
            "shop.orders": of_files["shop.orders"],
            "shop.events": of_files["shop.events"],
            "shop.daily": Counter(daily_of(have.get("shop.orders", empty))),
            "shop.totals": totals_of(have.get("shop.daily", empty), have.get("shop.events", empty)),
        }
        told = self._told()
        return [
            f"{name} is out of date and nothing says so: {_difference(rows, due[name])}; told: {told}"
            for name, rows in have.items()
            if rows != due[name] and name not in told
        ]

    def _told(self) -> str:
        """Return what ``check`` and ``show`` print."""
        done = [self._command("paimon_lake", command, "--configs", str(self._folder)) for command in ("check", "show")]
        return "\n".join(one.stdout + one.stderr for one in done)

    # -- damage

    def _damage_and_repair(self, chance: random.Random) -> list[str]:
        """Damage one table, see that it is told, and repair it with the commands of the product."""
        lake = open_lake(self._settings)
        names = [
            name for name in TABLES if lake.table_exists(name) and open_table(self._settings, name).latest_snapshot()
        ]
        if not names:
            return []
        name = chance.choice(names)
        table = open_table(self._settings, name)
        root = self._folder / "warehouse" / f"{name.split('.')[0]}.db" / name.split(".")[1]
        kind = chance.choice(("data file", "snapshot", "hint"))
        if kind == "data file" and not self._lose_file(table, root, chance):
            kind = "snapshot"
        newest = max((root / "snapshot").glob("snapshot-*"), key=lambda path: int(path.name.removeprefix("snapshot-")))
        if kind == "snapshot":
            newest.write_text(newest.read_text()[: chance.randrange(40)])
        if kind == "hint":
            (root / "snapshot" / "LATEST").write_text("no number")
        self.damages += 1
        said = self._command("paimon_lake", "audit", "--configs", str(self._folder))
        problems = []
        if kind != "hint" and (said.returncode == 0 or name not in said.stdout + said.stderr):
            problems.append(f"the audit does not tell the lost {kind} of {name}: {said.stdout}{said.stderr}")
        if kind != "hint" and sum(other in said.stdout + said.stderr for other in names) < len(names):
            problems.append(f"the lost {kind} of {name} hides other tables: {said.stdout}{said.stderr}")
        done = self._command("paimon_core", "repair", name, "--warehouse", str(self._folder / "warehouse"), "--apply")
        if done.returncode and "drop the table and write its rows again" in done.stderr:
            lake.drop_table(name)
        elif done.returncode:
            problems.append(f"repair after a lost {kind} of {name}: {done.returncode}: {done.stdout}{done.stderr}")
        return problems

    def _lose_file(self, table: Table, root: Path, chance: random.Random) -> bool:
        names = table.inspect.files()["file_name"].to_pylist()
        found = [path for path in root.rglob("*") if path.name in names]
        if found:
            chance.choice(found).unlink()
            self._lost_files.add(table.name)
        return bool(found)

    def _command(self, module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-W", "ignore", "-m", module, *arguments], cwd=ROOT, capture_output=True, text=True,
            timeout=300, check=False,
        )  # fmt: skip

    # -- loads until nothing is left to do

    def _settle(self) -> list[str]:
        problems = []
        for _ in range(PASSES):
            results = []
            for name in TABLES:
                try:
                    results.append(self._load(name))
                except Exception as error:
                    problems.append(f"the load of {name} at rest: {type(error).__name__}: {error}")
            if problems or not any(result.commits for result in results):
                return problems
        told = "; ".join(result.sentence() for result in results)
        return [f"after {PASSES} loads of all tables there is still something to load: {told}"]

    def _load(self, name: str) -> StepResult:
        """Load a table, with ``reload`` where a refusal says so."""
        self.loads += 1
        try:
            return load_table(lambda: start_session(self._settings), self._settings, name)
        except PipelineError as refused:
            if f"load --table {name} --reload`" not in str(refused):
                raise
            return load_table(lambda: start_session(self._settings), self._settings, name, reload=True)

    # -- what the tables contain

    def _compare(self) -> list[str]:
        problems = []
        for name, rows in expected(self._folder).items():
            found = self._rows(name)
            self._row_counts[name] = found.total()
            if found != rows:
                problems.append(f"{name} is not what the sources say: {_difference(found, rows)}")
            problems += [
                f"{one.table} {one.audit}: {one.sentence}"
                for one in audit(self._settings, name)
                if not (one.passed or one.audit == "health" or self._is_known(one))
            ]
        for name, count in expected_rejects(self._folder).items():
            found_rejects = self._rows(f"{name}__rejects").total()
            if found_rejects != count:
                problems.append(f"{name}__rejects has {found_rejects} rows, and the files have {count} such rows")
        return problems

    def _is_known(self, finding: CheckResult) -> bool:
        return finding.audit == "fsck" and finding.table in self._lost_files and "which is missing" in finding.sentence

    def _rows(self, name: str) -> Rows:
        try:
            table = open_lake(self._settings).table(name)
        except NotFound:
            return Counter()
        return Counter(tuple(map(_plain, row.values())) for row in table.scan().to_arrow().to_pylist())


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, int | str) else str(value)


def _difference(found: Rows, rows: Rows) -> str:
    less, more = rows - found, found - rows
    return f"{less.total()} rows less, such as {list(less)[:3]}, and {more.total()} more, such as {list(more)[:3]}"

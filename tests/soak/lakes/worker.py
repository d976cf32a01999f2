"""Worker: a process that works on a declared lake until it is stopped or killed: ``python -m tests.soak.lakes.worker``.

Roles: a *scheduler* loads tables, with partitions and reloads, and compacts; the *editor* changes source files; the
*keeper* compacts, tags and expires without Spark; a *reader* checks what holds in every snapshot. A line of its log
names each thing that it did; an error that a step does not document is a line ``VIOLATION`` with its traceback.
"""

from __future__ import annotations

import argparse
import logging
import random
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from paimon_core.errors import CommitConflict, NotFound, PlanOutdated, SnapshotNotFound
from paimon_lake.loads.load import load_table
from paimon_lake.protocol import PipelineError
from paimon_lake.session import start_session
from paimon_lake.steps.audits.audit import audit
from paimon_lake.steps.upkeep.expiry import expire
from paimon_lake.steps.upkeep.maintenance import compact, tag
from paimon_lake.steps.upkeep.rejects_upkeep import expire_rejects
from paimon_lake.tables import open_lake, open_table
from tests.soak.lakes.sources import DAYS, TABLES, Editor, settings_of

DOCUMENTED = (CommitConflict, PlanOutdated)
"""What a step may raise because another process works at the same time; its repetition succeeds."""
WAITS = (
    " is not in the lake",
    "is empty: load it first",
    ": no file matches source.path ",
    "was replaced or changed after it was listed",
)
"""Parts of refusals that other processes cause: an input without rows or files yet, a file that the editor replaced."""


class Worker:
    def __init__(self, folder: Path, role: str, seed: str) -> None:
        self.folder, self.chance = folder, random.Random(seed)
        self.settings = settings_of(folder)
        self.lake = open_lake(self.settings)
        self.editor = Editor(folder, self.chance) if role == "editor" else None
        self.act: Callable[[], str] = getattr(self, f"_{role}")

    def run(self) -> None:
        """Work until the file ``stop`` exists."""
        while not (self.folder / "stop").exists():
            try:
                done = self.act()
            except Exception as error:
                done = self._told(error)
            print(f"{time.time():.2f} {done}", flush=True)

    def _told(self, error: Exception) -> str:
        text = f"{type(error).__name__}: {error}"
        if isinstance(error, DOCUMENTED) or (isinstance(error, PipelineError) and any(w in text for w in WAITS)):
            return f"refused {text}"
        if WAITS[-1] in text:  # raised in a task of Spark
            return f"refused {text.splitlines()[-1]}"
        return f"VIOLATION {traceback.format_exc()}"

    # -- the roles

    def _editor(self) -> str:
        time.sleep(self.chance.uniform(0.05, 0.6))
        assert self.editor is not None
        return self.editor.edit()

    def _scheduler(self) -> str:
        time.sleep(self.chance.uniform(0.05, 0.3))
        name = self.chance.choice(list(TABLES))
        drawn = self.chance.random()
        partitions = None if name == "shop.totals" or drawn < 0.6 else self.chance.sample(DAYS, 1)
        reload = self.chance.random() < 0.15
        if drawn > 0.92 and self.lake.table_exists(name):
            return compact(self._spark, self.settings, name).sentence()
        return load_table(self._spark, self.settings, name, partitions, reload=reload).sentence()

    def _spark(self) -> object:
        return start_session(self.settings)

    def _keeper(self) -> str:
        time.sleep(self.chance.uniform(0.05, 0.5))
        name = self.chance.choice(list(TABLES))
        if not self.lake.table_exists(name):
            return f"waits for {name}"
        drawn = self.chance.random()
        if drawn < 0.4:
            snapshot = open_table(self.settings, name).compact(full=drawn < 0.1).snapshot
            return f"compact {name}: {snapshot and snapshot.id}"
        if drawn < 0.5:
            return tag(self.settings, name, f"t{self.chance.randrange(3)}").sentence()
        results = [expire(self._spark, self.settings, name), *expire_rejects(self._spark, self.settings, name)]
        return "; ".join(result.sentence() for result in results)

    def _reader(self) -> str:
        """Read a snapshot twice, and audit: rows of one key occur once, and the rows of a snapshot never change."""
        time.sleep(self.chance.uniform(0.05, 0.3))
        name = self.chance.choice(list(TABLES))
        if not self.lake.table_exists(name):
            return f"waits for {name}"
        table = open_table(self.settings, name)
        scan = table.scan()
        if scan.snapshot is None:
            return f"{name} has no snapshot"
        try:
            rows = Counter(tuple(row.values()) for row in scan.to_arrow().to_pylist())
            again = Counter(
                tuple(row.values()) for row in table.at(snapshot=scan.snapshot.id).scan().to_arrow().to_pylist()
            )
        except (SnapshotNotFound, NotFound):
            return f"snapshot {scan.snapshot.id} of {name} expired"
        if rows != again:
            return f"VIOLATION {name}: snapshot {scan.snapshot.id} had other rows when it was read again"
        wrong = [f for f in audit(self.settings, name, ("keys",)) if not f.passed]
        return f"VIOLATION {name}: {wrong}" if wrong else f"read {name} {scan.snapshot.id}: {rows.total()} rows"


def main() -> None:
    """Work on the lake of a folder in a role."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("role")
    parser.add_argument("seed")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.INFO)
    Worker(given.folder, given.role, given.seed).run()


if __name__ == "__main__":
    sys.exit(main())

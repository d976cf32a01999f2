"""Rounds: the life of a table, operation by operation, with all sides one after the other in each operation.

So all sides work under the same load of the machine, and the ratios of a round compare neighbours in time. A round
begins with empty tables. Results of reads must be equal on all sides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.report.cells import Cell
from benchmarks.report.libraries import KEYLESS, LIMIT, NAMES, OURS, READS_OURS, Sides
from benchmarks.report.settings import Settings
from benchmarks.timing import log

OPTIONS = {"bucket": "2", "write-only": "true"}
APPEND = {"bucket": "-1", "write-only": "true"}
CITY = "city-7"
SHAPES = {
    "append": "append: rows to an empty table without a key",
    "scan": "scan: all columns of the appended rows",
    "one column": "one column: a number of the appended rows",
    "keyed write": "keyed write: rows to an empty table with a primary key",
    "upsert": "upsert: a tenth of the rows, all with keys that exist",
    "scan after upsert": "scan after upsert: all columns, two sorted runs merged",
    "point query": "point query: one key",
    "key range": "key range: 1 % of the keys",
    "compaction": "compaction: full, after the upsert",
    "delete": "delete: 0.1 % of the rows, by a text column",
    "commit": "commit: one row",
    "plan cold": "plan cold: many files, new catalog",
    "plan warm": "plan warm: the same, again",
}
"""By shape, what is measured."""
AFTER_UPSERT = ("scan after upsert", "point query", "key range", "compaction", "delete")
POINT_TIMES = 5
WRONG_ROWS = "other rows than paimon_core"

Cells = dict[str, dict[str, Cell]]
"""By shape and side."""


class Rounds:
    """Runs rounds and keeps their cells."""

    def __init__(
        self, sides: Sides, settings: Settings, folder: Path, *, shapes: tuple[str, ...], prefix: str = ""
    ) -> None:
        self.sides, self.settings, self.folder, self.shapes = sides, settings, folder, shapes
        self._prefix = prefix
        self.cells: Cells = {shape: {side: Cell() for side in sides.running} for shape in shapes}
        self._failed: set[tuple[str, str]] = set()
        self._counts = False

    def run(self, ended: Callable[[int, Cells], None] | None = None) -> Cells:
        """Run all rounds; ``ended`` gets the number of rounds that counted so far and their cells after each."""
        if {"plan cold", "plan warm"} & set(self.shapes):
            self._make_many()
        if "commit" in self.shapes:
            self._make("commits", ["id"], {**OPTIONS, "bucket": "1"})
        for number in range(-self.settings.warm, self.settings.repeats):
            log(f"round {number + 1} of {self.settings.repeats}" if number >= 0 else "a round to warm all sides")
            self._counts = number >= 0
            self._appended(f"{self._prefix}a{number + 100}")
            self._keyed(f"{self._prefix}k{number + 100}")
            self._metadata(number + 100)
            if ended is not None and self._counts:
                ended(number + 1, self.cells)
        return self.cells

    def _appended(self, name: str) -> None:
        if not {"append", "scan", "one column"} & set(self.shapes):
            return
        rows = self.settings.rows
        self._make(name, [], APPEND)
        self._shape("append", "write", name, batch=[0, rows, -rows], limit=(name, False))
        self._shape("scan", "scan", name, None)
        self._shape("one column", "scan", name, ["b"])

    def _keyed(self, name: str) -> None:
        if not set(self.shapes) - {"append", "scan", "one column", "commit", "plan cold", "plan warm"}:
            return
        rows = self.settings.rows
        self._make(name, ["id"], OPTIONS)
        self._shape("keyed write", "write", name, batch=[0, rows, -rows], limit=(name, True))
        self._shape("upsert", "upsert", name, batch=[1, rows // 10, -rows], limit=(name, True))
        self._shape("scan after upsert", "scan", name, None)
        key = rows // 3
        self._shape("point query", "find", name, key, key, times=POINT_TIMES)
        self._shape("key range", "find", name, key, key + rows // 100 - 1)
        self._shape("compaction", "compact", name)
        self._shape("delete", "delete", name, CITY)
        self._check_rows(name)

    def _metadata(self, number: int) -> None:
        rows = self.settings.rows
        if "commit" in self.shapes:
            self._shape("commit", "commit", "commits", batch=[number, 1, -rows], times=self.settings.commits)
        for shape, warm in (("plan cold", False), ("plan warm", True)):
            if shape in self.shapes:
                self._shape(shape, "plan", str(self.folder / "java"), "many", warm)

    def _make(self, name: str, key: list[str], options: Mapping[str, str]) -> None:
        for side, process in self.sides.running.items():
            if side not in READS_OURS and side != LIMIT:
                self._checked(side, process.ask("make", name, key, options))
            if side in READS_OURS:  # a table of its own, which our side creates
                self._checked(OURS, self.sides.running[OURS].ask("make", f"{name}_{side}", key, options))

    def _checked(self, side: str, answer: dict[str, Any]) -> None:
        """Raise RuntimeError if our side or the limit has no answer; others may fail, and the report says so."""
        if side in (OURS, LIMIT) and ("failed" in answer or "unsupported" in answer):
            raise RuntimeError(f"{NAMES[side]} failed: {answer}")

    def _make_many(self) -> None:
        """Create the table of many files: one for all Paimon libraries, others for those that need their own."""
        count = max(1, round(self.settings.plan_files**0.5))
        log(f"creating tables of {count * count:,} files")
        java = self.sides.running.get("java")
        if java is None:
            for shape in ("plan cold", "plan warm"):
                for side in self.cells.get(shape, {}):
                    self.cells[shape][side].reason = "the table is created by Java, which is not here"
                    self._failed.add((shape, side))
            return
        java.ask("many", "many", count, count)
        for side in KEYLESS:
            if side in self.sides.running:
                answer = self.sides.running[side].ask("many", "many", count, count)
                for shape in ("plan cold", "plan warm"):
                    if "failed" in answer and shape in self.cells:
                        self.cells[shape][side].reason = f"creating the table failed: {answer['failed']}"
                        self._failed.add((shape, side))

    def _shape(self, shape: str, op: str, *arguments: Any, limit: tuple[Any, ...] | None = None, **more: Any) -> None:
        """Run an operation on all sides; its figures count if the shape is wanted and the round counts."""
        expected: dict[str, Any] | None = None
        for side, process in self.sides.running.items():
            if (shape, side) in self._failed:
                continue
            lost = next((write for write in self._writes_before(shape) if (write, side) in self._failed), None)
            if lost is not None:
                self._take(shape, side, {"failed": f"its {lost} failed, so its table has other rows"}, None)
                continue
            named = list(arguments)
            if side in READS_OURS and op != "plan":
                named[0] = f"{named[0]}_{side}"
            if side == LIMIT:
                if shape not in self.shapes:
                    continue
                if op not in ("plan", "commit"):
                    self._checked(side, process.ask("prepare", arguments[0]))
                answer = process.ask("write" if op == "upsert" else op, *(limit or arguments), **more)
            else:
                answer = process.ask(op, *named, **more)
            if side == OURS:
                self._checked(side, answer)
                expected = answer
            if side == LIMIT and "failed" in answer:
                raise RuntimeError(f"{shape} with Arrow alone failed: {answer['failed']}")
            self._take(shape, side, answer, expected)

    @staticmethod
    def _writes_before(shape: str) -> Sequence[str]:
        before = {"scan": ["append"], "one column": ["append"], "upsert": ["keyed write"]}
        return before.get(shape, ["keyed write", "upsert"] if shape in AFTER_UPSERT else [])

    def _take(self, shape: str, side: str, answer: dict[str, Any], expected: dict[str, Any] | None) -> None:
        if shape not in self.cells:
            return
        cell = self.cells[shape][side]
        reason = answer.get("unsupported") or answer.get("failed")
        if reason is None and side != LIMIT and "checksum" in answer and expected is not None:
            same = (answer["rows"], answer["checksum"]) == (expected["rows"], expected["checksum"])
            reason = None if same else f"{WRONG_ROWS}: {answer['rows']:,} rows, not {expected['rows']:,}"
        if reason is not None:
            log(f"{shape}, {side}: {reason}")
            # Figures of earlier rounds stay, and the report says that a later one failed.
            cell.reason = reason
            self._failed.add((shape, side))
        elif shape == "keyed write" and side in KEYLESS:
            cell.reason = "its tables have no primary key; see append"
        elif self._counts:
            cell.add(answer)

    def _check_rows(self, name: str) -> None:
        """Compare the rows after the delete; a side that deleted others has no figure for it."""
        if "delete" not in self.shapes:
            return
        expected = self.sides.running[OURS].ask("scan", name, ["id"])
        for side, process in self.sides.running.items():
            if side not in (OURS, LIMIT) and self.cells["delete"][side].processor:
                named = f"{name}_{side}" if side in READS_OURS else name
                answer = process.ask("scan", named, ["id"])
                if (answer.get("rows"), answer.get("checksum")) != (expected["rows"], expected["checksum"]):
                    self.cells["delete"][side] = Cell(reason=WRONG_ROWS)
                    self._failed.add(("delete", side))

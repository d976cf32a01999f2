"""recorded_filters: which columns of tables are filtered, how often, and how many files this left out (decision 0069).

Recording is off. The environment variable ``PAIMON_FILTERS_DIR`` names a local directory and turns it on. Only names of
tables' directories, columns and operators, and numbers are recorded, never values of filters. Each process writes one
file, at most every ``PAUSE_SECONDS`` and when it ends, so that processes do not wait for each other; a reader adds up
the files. A process records at most ``MOST_ENTRIES`` columns and operators, and the directory has at most
``MOST_FILES`` files: the oldest are deleted. A scan never fails because of the recording.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import logging
import os
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from paimon_core.metadata import clock
from paimon_core.plan.live_files import ScanCounts
from paimon_core.predicate import Predicate
from paimon_core.predicate.tree import ColumnComparison, Comparison

DIRECTORY = "PAIMON_FILTERS_DIR"
PAUSE_SECONDS = 5.0
MOST_ENTRIES = 10_000
MOST_FILES = 1_000
_MOST_BYTES = 8 << 20
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Use:
    """The scans that filtered a column by an operator."""

    scans: int = 0
    last_millis: int = 0
    """The time of the last such scan, epoch milliseconds."""
    files: int = 0
    """The live files of the versions that these scans read, added up."""
    selected: int = 0
    """The part of ``files`` that the plans did not leave out."""

    def add(self, other: Use) -> None:
        """Add the numbers of another recording."""
        self.scans += other.scans
        self.last_millis = max(self.last_millis, other.last_millis)
        self.files += other.files
        self.selected += other.selected


@dataclass(slots=True)
class RecordedFilters:
    """What was recorded for one table."""

    first_millis: int = 0
    """The time of the first recorded scan with a filter."""
    scans: int = 0
    """The scans with a filter."""
    uses: dict[tuple[str, str], Use] = field(default_factory=dict)
    """By (column, operator)."""


def record_filter(root: str, where: Predicate | None, counts: ScanCounts) -> None:
    """Record the filter of one scan of the table in the directory ``root``, if recording is on."""
    directory = os.environ.get(DIRECTORY)
    if directory and where is not None:
        _recorder_of(directory).record(root, frozenset(_compared(where)), counts)


def recorded_filters(root: str) -> RecordedFilters | None:
    """Return what all processes recorded for a table; None when recording is off or nothing is recorded.

    Files that cannot be read are left out, and a warning is logged.
    """
    directory = os.environ.get(DIRECTORY)
    if not directory:
        return None
    _recorder_of(directory).write()
    total: RecordedFilters | None = None
    for path in Path(directory).glob("filters-*.json"):
        try:
            if path.stat().st_size > _MOST_BYTES:
                raise ValueError(f"it has more than {_MOST_BYTES:,} bytes")
            found = _parsed(json.loads(path.read_bytes()).get(root))
        except FileNotFoundError:  # another process has deleted it
            continue
        except (OSError, ValueError, TypeError, AttributeError, KeyError) as error:
            _log.warning("the recorded filters in %s are left out: %s", path, error)
            continue
        if found is not None:
            total = found if total is None else _added(total, found)
    return total


def _compared(where: Predicate) -> Iterator[tuple[str, str]]:
    """Yield (top-level column, operator) of each comparison."""
    if isinstance(where, Comparison | ColumnComparison):
        yield from ((column, str(where.op)) for column in where.columns)
    for part in getattr(where, "parts", ()):
        yield from _compared(part)


def _added(total: RecordedFilters, other: RecordedFilters) -> RecordedFilters:
    total.first_millis = min(total.first_millis, other.first_millis)
    total.scans += other.scans
    for key, use in other.uses.items():
        total.uses.setdefault(key, Use()).add(use)
    return total


def _parsed(plain: Any) -> RecordedFilters | None:
    if plain is None:
        return None
    uses = {(str(column), str(op)): Use(*map(int, numbers)) for column, op, *numbers in plain["uses"]}
    return RecordedFilters(int(plain["first"]), int(plain["scans"]), uses)


class _Recorder:
    """The file of this process in a directory. Thread-safe."""

    def __init__(self, directory: str) -> None:
        self._path = Path(directory) / f"filters-{uuid.uuid4().hex}.json"
        self._tables: dict[str, RecordedFilters] = {}
        self._lock = threading.Lock()
        self._entries = 0
        self._is_new = True
        self._has_changed = False
        self._next_write = 0.0

    def record(self, root: str, compared: frozenset[tuple[str, str]], counts: ScanCounts) -> None:
        now = clock.now_millis()
        with self._lock:
            table = self._tables.get(root)
            if table is None:
                if len(self._tables) >= MOST_ENTRIES:
                    return
                table = self._tables[root] = RecordedFilters(now)
            table.scans += 1
            for key in compared:
                if key not in table.uses:
                    if self._entries >= MOST_ENTRIES:
                        continue
                    self._entries += 1
                    table.uses[key] = Use()
                table.uses[key].add(Use(1, now, counts.files_total, counts.files_selected))
            self._has_changed = True
            is_due = time.monotonic() >= self._next_write
        if is_due:
            self.write()

    def write(self) -> None:
        """Replace the file of this process if there is something new; an error is logged and not raised."""
        with self._lock:
            if not self._has_changed:
                return
            self._has_changed = False
            self._next_write = time.monotonic() + PAUSE_SECONDS
            plain = {
                root: {
                    "first": table.first_millis,
                    "scans": table.scans,
                    "uses": [[*key, u.scans, u.last_millis, u.files, u.selected] for key, u in table.uses.items()],
                }
                for root, table in self._tables.items()
            }
            try:
                self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                if self._is_new:
                    _delete_oldest(self._path.parent)
                temporary = self._path.with_suffix(".tmp")
                temporary.write_text(json.dumps(plain))
                temporary.replace(self._path)
                self._is_new = False
            except OSError as error:
                _log.warning("filters are not recorded: %s", error)


def _delete_oldest(directory: Path) -> None:
    """Delete the oldest files of ended processes so that at most ``MOST_FILES`` are left with one more."""
    found = sorted(directory.glob("filters-*.*"), key=lambda path: path.stat().st_mtime)
    for path in found[: max(0, len(found) + 1 - MOST_FILES)]:
        with contextlib.suppress(FileNotFoundError):
            path.unlink()


_recorders: dict[tuple[str, int], _Recorder] = {}
_recorders_lock = threading.Lock()


def _recorder_of(directory: str) -> _Recorder:
    """Return the recorder of this process; a forked process has its own."""
    key = (directory, os.getpid())
    with _recorders_lock:
        if key not in _recorders:
            _recorders[key] = _Recorder(directory)
            atexit.register(_recorders[key].write)
        return _recorders[key]

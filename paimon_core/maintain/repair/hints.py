"""Hint repair: corrects the hint files LATEST and EARLIEST of snapshots and changelogs in every branch (format 3.4).

paimon_core does not rely on hints. Java trusts the hint EARLIEST when the snapshot that it names exists, and the hint
LATEST when no snapshot has the next higher id. Snapshots may be created and deleted during the repair, so each hint is
checked again after it was written. Files in these directories that are no snapshot, changelog or hint are reported.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from paimon_core.errors import StorageError
from paimon_core.maintain.roots import contexts_of_branches
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.stores.snapshot_store import EARLIEST, LATEST
from paimon_core.storage.storage import Storage

_NAMES = re.compile(r"(snapshot|changelog)-[1-9]\d{0,18}|LATEST|EARLIEST")
_ATTEMPTS = 5


@dataclass(frozen=True)
class RepairedHint:
    """One hint that was wrong: its old text (None: the file did not exist) and its new text (None: it was deleted)."""

    path: str
    was: str | None
    now: str | None


@dataclass(frozen=True)
class HintReport:
    """The hints that a repair corrected, and the unknown files that it found."""

    repaired: tuple[RepairedHint, ...] = ()
    strays: tuple[str, ...] = ()
    """Paths of other files in the directories of snapshots and changelogs; they are kept."""


def repair_hints(context: TableContext) -> HintReport:
    """Rewrite every hint that is missing or wrong, and delete the hints of a directory without snapshots or changelogs.

    Raises CorruptTable for a branch without a schema, StorageError when snapshots are created or deleted faster than
    the hint is written.
    """
    repaired: list[RepairedHint] = []
    strays: list[str] = []
    for branch in contexts_of_branches(context):
        paths = branch.paths
        for directory, ids, hint in (
            (paths.snapshot_directory, branch.snapshots.ids, paths.hint),
            (paths.changelog_directory, branch.changelogs.ids, paths.changelog_hint),
        ):
            for name, end in ((LATEST, max), (EARLIEST, min)):
                found = _repair(context.storage, hint(name), partial(_expected_id, ids, end))
                repaired += [found] if found else []
            strays += [
                e.path for e in context.storage.list(directory) if e.is_directory or not _NAMES.fullmatch(e.name)
            ]
    return HintReport(tuple(repaired), tuple(sorted(strays)))


def _expected_id(ids: Callable[[], list[int]], end: Callable[[list[int]], int]) -> int | None:
    found = ids()
    return end(found) if found else None


def _repair(storage: Storage, path: str, expected_id: Callable[[], int | None]) -> RepairedHint | None:
    """Correct one hint to ``expected_id()``; return None when it was correct."""
    was = current = _text(storage, path)
    for _ in range(_ATTEMPTS):
        expected = expected_id()
        if current == (None if expected is None else str(expected)):
            return None if current == was else RepairedHint(path, was, current)
        if expected is None:
            storage.delete([path])
        else:
            storage.overwrite(path, str(expected).encode())
        current = _text(storage, path)
    raise StorageError(
        f"{path} could not be repaired in {_ATTEMPTS} attempts, because snapshots are created or deleted as fast as "
        "it is written: repeat the repair when fewer writers run",
        path=path,
    )


def _text(storage: Storage, path: str) -> str | None:
    try:
        return storage.read(path).decode(errors="replace")
    except FileNotFoundError:
        return None

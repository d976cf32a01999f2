"""Hints: LATEST and EARLIEST of snapshots and changelogs made right again, in every branch (format 3.4).

No answer here hangs on a hint, but Java trusts EARLIEST when its snapshot exists, and LATEST when the one after it does
not. Snapshots come and go while we look, so each hint is looked at once more after it was written. Names in these
directories that are no snapshot, changelog or hint are told.
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
_LOOKS = 5


@dataclass(frozen=True)
class RepairedHint:
    """One hint that was wrong; ``None`` where there was none, or now is none."""

    path: str
    was: str | None
    now: str | None


@dataclass(frozen=True)
class HintReport:
    """What a repair found and did."""

    repaired: tuple[RepairedHint, ...] = ()
    strays: tuple[str, ...] = ()
    """Paths in the directories of snapshots and changelogs that are none of theirs; left alone."""


def repair_hints(context: TableContext) -> HintReport:
    """Rewrite every hint that is missing, garbled or wrong, and remove those of no snapshot at all.

    Raises CorruptTable for a branch without schema, StorageError when snapshots come or go too fast to follow.
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
                found = _repair(context.storage, hint(name), partial(_end, ids, end))
                repaired += [found] if found else []
            strays += [
                e.path for e in context.storage.list(directory) if e.is_directory or not _NAMES.fullmatch(e.name)
            ]
    return HintReport(tuple(repaired), tuple(sorted(strays)))


def _end(ids: Callable[[], list[int]], end: Callable[[list[int]], int]) -> int | None:
    found = ids()
    return end(found) if found else None


def _repair(storage: Storage, path: str, right: Callable[[], int | None]) -> RepairedHint | None:
    """Bring one hint in line with what ``right`` says; None when it was."""
    was = current = _text(storage, path)
    for _ in range(_LOOKS):
        wanted = right()
        if current == (None if wanted is None else str(wanted)):
            return None if current == was else RepairedHint(path, was, current)
        if wanted is None:
            storage.delete([path])
        else:
            storage.overwrite(path, str(wanted).encode())
        current = _text(storage, path)
    raise StorageError(f"{path} does not settle: snapshots come or go as fast as it is written", path=path)


def _text(storage: Storage, path: str) -> str | None:
    try:
        return storage.read(path).decode(errors="replace")
    except FileNotFoundError:
        return None

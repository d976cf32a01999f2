"""Hint checks: the hints and the unknown files in the snapshot directory (I24)."""

from __future__ import annotations

import re

from paimon_core.fsck.check_context import CheckRun
from paimon_core.fsck.finding import Level
from paimon_core.fsck.finding_collector import Location
from paimon_core.metadata.stores.snapshot_store import EARLIEST, LATEST

_SNAPSHOT = re.compile(r"snapshot-[1-9]\d{0,18}")
_TEMPORARY = re.compile(r"\..*\.tmp|.*\.tmp|\.tmp.*")


def check_hints(run: CheckRun, location: Location) -> None:
    """Check the hints LATEST and EARLIEST.

    A stale hint only costs readers a listing. But if the snapshot id next to a stale hint is missing, readers trust the
    hint and use a wrong snapshot.
    """
    context, collector = run.context, run.collector
    ids = context.snapshots.ids()
    for name, right, step in ((LATEST, ids[-1:], 1), (EARLIEST, ids[:1], -1)):
        path = context.paths.hint(name)
        run.reached.add(path)
        collector.check("I24")
        try:
            text = context.storage.read(path)
        except FileNotFoundError:
            continue
        except OSError as error:
            collector.find("I24", location, f"{path} cannot be read: {error}", level=Level.WARNING, path=path)
            continue
        if text == b"".join(b"%d" % i for i in right):
            continue
        hint = int(text) if re.fullmatch(rb"[1-9]\d{0,18}", text) else None
        if hint in ids and hint is not None and hint + step not in ids:
            level, then = Level.ERROR, "readers use the hint, because of the gap next to it"
        else:
            # A crash after a commit or an expiry leaves a stale hint.
            level = Level.WARNING if hint is None else Level.INFO
            then = "readers list the directory instead; repair the hints"
        expected = right[0] if right else "none"
        collector.find(
            "I24",
            location,
            f"{path} contains {text[:40]!r}, the right id is {expected}: {then}",
            level=level,
            path=path,
        )


def check_unknown_files(run: CheckRun, location: Location) -> None:
    """Report the entries of the snapshot directory that are neither snapshots nor hints."""
    context = run.context
    for entry in context.storage.list(context.paths.snapshot_directory):
        is_snapshot = _SNAPSHOT.fullmatch(entry.name) is not None
        if not entry.is_directory and (is_snapshot or entry.name in (LATEST, EARLIEST)):
            run.reached.add(entry.path)
            continue
        leftover = _TEMPORARY.fullmatch(entry.name) is not None
        run.collector.find(
            "I24",
            location,
            f"{entry.path} is not a snapshot: readers ignore it",
            level=Level.INFO if leftover else Level.WARNING,
            path=entry.path,
        )

"""Roots: every snapshot from which files of a table are reached, whoever holds it (format 15, 16.6).

What no root reaches is garbage; what one reaches must stay. A set of roots is complete or it is not given at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from paimon_core.errors import CorruptTable, SnapshotNotFound
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.storage.paths import MAIN


class Holder(StrEnum):
    """What holds a snapshot."""

    SNAPSHOT = "snapshot"
    TAG = "tag"
    CHANGELOG = "changelog"


@dataclass(frozen=True)
class Root:
    """A snapshot that is held by its own file, by a tag, or by the changelog that outlived it (no rows then)."""

    holder: Holder
    name: str
    """The snapshot's id, the tag's name."""
    branch: str
    snapshot: Snapshot

    def __str__(self) -> str:
        where = "" if self.branch == MAIN else f" of branch {self.branch}"
        return f"{self.holder} {self.name}{where}"


def contexts_of_branches(context: TableContext) -> list[TableContext]:
    """The table on main and on every other branch.

    A branch that is deleted meanwhile is left out. Raises CorruptTable for a branch without schema: what it holds
    cannot be known (format 16.6).
    """
    found = []
    for branch in (MAIN, *context.branches.names()):
        try:
            found.append(context.on_branch(branch))
        except (LookupError, CorruptTable) as error:
            if branch != MAIN and branch not in context.branches.names():
                continue
            if isinstance(error, CorruptTable):
                raise
            raise CorruptTable(
                f"table {context.name}: branch {branch!r} has no schema: it is half made or half deleted, and what it "
                "holds is not known; delete the branch or make it again",
                table=context.name,
                branch=branch,
            ) from error
    return found


def all_roots(context: TableContext) -> Iterator[Root]:
    """All roots of all branches: snapshots by id, tags by name, changelogs by id.

    Raises SnapshotNotFound for a root that went away, or came back under another name, while the roots were listed and
    read, CorruptTable for one that cannot be read: a set with a hole must not be used to delete anything.
    """
    branches = contexts_of_branches(context)
    for branch in branches:
        yield from roots_of(branch)
    names = [MAIN, *context.branches.names()]
    if names != [b.branch for b in branches]:
        raise _moved(context, f"branches {sorted(set(names) ^ {b.branch for b in branches})} came or went")


def roots_of(context: TableContext) -> Iterator[Root]:
    """The roots of the context's own branch; raises as ``all_roots``.

    Snapshots first: what holds an expired one, a tag or a changelog, was there before the snapshot went.
    """
    ids = _snapshot_ids(context)
    for snapshot_id in ids:
        yield Root(Holder.SNAPSHOT, str(snapshot_id), context.branch, context.snapshots.read(snapshot_id))
    tags = context.tags.list()
    for tag in tags:
        yield Root(Holder.TAG, tag.name, context.branch, tag.snapshot)
    for snapshot_id in context.changelogs.ids():
        yield Root(Holder.CHANGELOG, str(snapshot_id), context.branch, context.changelogs.read(snapshot_id))
    if [t.name for t in tags] != context.tags.names():
        raise _moved(context, "tags came or went")
    if back := sorted(i for i in context.snapshots.ids() if ids and i < ids[-1] and i not in ids):
        raise _moved(context, f"snapshot {back[0]} came back")


def _snapshot_ids(context: TableContext) -> list[int]:
    """All ids, also those at the end that a listing of the store does not show yet."""
    snapshots = context.snapshots
    ids = snapshots.ids()
    following = ids[-1] + 1 if ids else 1
    while snapshots.exists(following) and not _is_directory(context, context.paths.snapshot(following)):
        ids.append(following)
        following += 1
    return ids


def _is_directory(context: TableContext, path: str) -> bool:
    return any(e.is_directory for e in context.storage.list(context.paths.snapshot_directory) if e.path == path)


def _moved(context: TableContext, what: str) -> SnapshotNotFound:
    return SnapshotNotFound(f"table {context.name} (branch {context.branch}) moved while it was read: {what}")

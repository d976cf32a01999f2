"""Roots: lists all snapshots, tags and changelogs from which files of a table are referenced (format 15, 16.6).

A file that a root references must be kept; a file that no root references may be deleted. The functions return the
complete set of roots or raise.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from paimon_core.errors import CorruptTable, SnapshotNotFound
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.storage.paths import MAIN

_PAUSES = (0.05, 0.2, 0.75)
"""The seconds to wait for a branch that another process may just be creating or deleting."""


class Holder(StrEnum):
    """The kind of metadata file in which a root is stored."""

    SNAPSHOT = "snapshot"
    TAG = "tag"
    CHANGELOG = "changelog"


@dataclass(frozen=True)
class Root:
    """A snapshot that is stored in a snapshot file, in a tag, or in a lasting changelog.

    For a snapshot in a lasting changelog, only the files with its changes are kept.
    """

    holder: Holder
    name: str
    """The snapshot's id or the tag's name."""
    branch: str
    snapshot: Snapshot

    def __str__(self) -> str:
        where = "" if self.branch == MAIN else f" of branch {self.branch}"
        return f"{self.holder} {self.name}{where}"


def contexts_of_branches(context: TableContext) -> list[TableContext]:
    """Return the contexts of main and of every other branch.

    A branch that is deleted during the call is left out; a branch that is being created or deleted is waited for, about
    a second. Raises CorruptTable for a branch that is not complete by then, because the files that the branch
    references cannot be determined (format 16.6).
    """
    found = (_opened(context, branch) for branch in (MAIN, *context.branches.names()))
    return [opened for opened in found if opened is not None]


def _opened(context: TableContext, branch: str) -> TableContext | None:
    """Return the context of a branch; None when the branch is deleted."""
    for pause in (*_PAUSES, None):
        try:
            return context.on_branch(branch)
        except (LookupError, CorruptTable) as error:
            if branch != MAIN and branch not in context.branches.names():
                return None
            if isinstance(error, CorruptTable):
                raise
            if pause is None and branch == MAIN:
                raise CorruptTable(
                    f"table {context.name}: branch 'main' has no schema, and the files that it references cannot be "
                    f"determined: the table was dropped, or the files in {context.paths.root}/schema were deleted; "
                    "restore these files before anything is removed",
                    table=context.name,
                    branch=branch,
                ) from error
            if pause is None:
                raise CorruptTable(
                    f"table {context.name}: branch {branch!r} is being created or deleted, or was only partly created "
                    "or deleted, and the files that it references cannot be determined; wait until this has ended, or "
                    "delete the branch or create it again",
                    table=context.name,
                    branch=branch,
                ) from error
            time.sleep(pause)
    return None


def all_roots(context: TableContext) -> Iterator[Root]:
    """Yield all roots of all branches: snapshots by id, tags by name, changelogs by id.

    Raises SnapshotNotFound when a root was deleted, renamed or restored while the roots were listed and read;
    CorruptTable for a root that cannot be read. The set is complete only when the iteration ends without an error.
    """
    branches = contexts_of_branches(context)
    for branch in branches:
        yield from roots_of(branch)
    names = [MAIN, *context.branches.names()]
    if names != [b.branch for b in branches]:
        changed = sorted(set(names) ^ {b.branch for b in branches})
        raise _changed(context, f"branches {changed} were created or deleted")


def roots_of(context: TableContext) -> Iterator[Root]:
    """Yield the roots of the context's own branch; raises the errors of ``all_roots``.

    Snapshots are read before tags and changelogs. If a snapshot expires in between, the tag or changelog that keeps its
    files existed before the expiry, so the later listing includes this tag or changelog.
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
        raise _changed(context, "tags were created or deleted")
    if restored := sorted(i for i in context.snapshots.ids() if ids and i < ids[-1] and i not in ids):
        raise _changed(context, f"snapshot {restored[0]} was restored")


def _snapshot_ids(context: TableContext) -> list[int]:
    """Return all snapshot ids, including the ids of new snapshots that a listing of the store does not show yet."""
    snapshots = context.snapshots
    ids = snapshots.ids()
    following = ids[-1] + 1 if ids else 1
    while snapshots.exists(following) and not _is_directory(context, context.paths.snapshot(following)):
        ids.append(following)
        following += 1
    return ids


def _is_directory(context: TableContext, path: str) -> bool:
    return any(e.is_directory for e in context.storage.list(context.paths.snapshot_directory) if e.path == path)


def _changed(context: TableContext, what: str) -> SnapshotNotFound:
    return SnapshotNotFound(f"table {context.name} (branch {context.branch}) changed while it was read: {what}")

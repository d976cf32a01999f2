"""History: the snapshots between two versions, read together, because a rollback frees their ids for new snapshots."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from paimon_core.errors import InvalidRequest, SnapshotNotFound
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.table_identity import check_same_table
from paimon_core.table.changes.versions import Version, is_referenced, is_same


@dataclass(frozen=True)
class History:
    """The commits after ``start`` up to ``end``."""

    start: Version
    end: Version
    steps: Mapping[int, Snapshot]
    """The snapshots whose changes can be read, by id: live snapshots and lasting changelogs."""
    versions: Mapping[int, Snapshot]
    """The snapshots whose rows can be read, by id: live and tagged snapshots."""
    is_broken: bool = False
    """Whether ``end`` was not built on ``start``: there was a rollback, or the table was replaced."""
    contiguous_from: int = 0
    """The id of the version after which ``steps`` has every snapshot."""


def read_history(context: TableContext, start: Version, end: Version) -> History:
    """Read the snapshots between two versions.

    Raises SnapshotNotFound when a snapshot has expired and ``start`` cannot be read to compute a difference instead,
    and when a rollback or an expiry changes the snapshots during the call; InvalidRequest when ``start`` is after
    ``end``.
    """
    if start.id > end.id:
        raise InvalidRequest(
            f"start ({_named(start)}) must not come after end ({_named(end)})",
            table=context.name,
        )
    if start.id == end.id and (start.id == 0 or is_same(start.snapshot, end.snapshot)):
        return History(start, end, {}, {}, contiguous_from=end.id)
    live = {i for i in context.snapshots.ids() if start.id <= i <= end.id}
    lasting: set[int] = set()
    if not live.issuperset(range(start.id + 1, end.id + 1)):
        lasting = {i for i in context.changelogs.ids() if start.id < i <= end.id}
    versions = {i: context.snapshots.read(i) for i in sorted(live)}
    steps = {i: context.changelogs.read(i) for i in sorted(lasting - live)} | versions
    if not live.issuperset(range(start.id, end.id + 1)):
        tagged = (t.snapshot for t in context.tags.list())
        versions = {s.id: s for s in tagged if start.id <= s.id <= end.id and s.id not in live} | versions
    if end.snapshot is not None and not is_referenced(context, end.snapshot):
        raise SnapshotNotFound(
            f"snapshot {end.id} of table {context.name} was rolled back or expired while its history was read",
            table=context.name,
            snapshot=end.id,
        )
    check_same_table(context)
    if _is_broken(start, end, steps):
        return History(start, end, steps, versions, is_broken=True)
    steps.pop(start.id, None)
    missing = [i for i in range(start.id + 1, end.id + 1) if i not in steps]
    if missing and not (start.is_known and start.id):
        raise _expired(context, missing[0], steps)
    first = missing[-1] if missing else start.id
    while first > start.id and first not in versions and first < end.id:
        first += 1
    return History(start, end, steps, versions, contiguous_from=first)


def _is_broken(start: Version, end: Version, steps: Mapping[int, Snapshot]) -> bool:
    """Whether the snapshots show that the end was not built on the start."""
    for version in (start, end):
        found = steps.get(version.id)
        if version.snapshot is not None and found is not None and not is_same(found, version.snapshot):
            return True
    if start.id == end.id:
        return True
    first = steps.get(start.id + 1)
    return start.snapshot is not None and first is not None and first.is_built_on(start.snapshot) is False


def _expired(context: TableContext, missing: int, steps: Mapping[int, Snapshot]) -> SnapshotNotFound:
    following = min((i for i in steps if i > missing), default=None)
    return SnapshotNotFound(
        f"table {context.name}: snapshot {missing} has expired, and so have its changes"
        + (f"; changes after snapshot {following - 1} are available" if following else "")
        + "; a tag as start, or way='diff', needs none of them",
        table=context.name,
        snapshot=missing,
    )


def _named(version: Version) -> str:
    number = f"snapshot {version.id}"
    return version.name if version.name == number else f"{version.name}, {number}"

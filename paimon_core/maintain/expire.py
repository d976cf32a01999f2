"""expire: drop old snapshots and the files that only they use (format 16.1).

Order, and what it protects. First everything is computed: what cannot be read then stops the run with nothing deleted.
Then the snapshot files go, lowest id first, then the hint EARLIEST moves, then data files, manifests and lists go. So

- a reader finds a snapshot with all of its files or, when a file is missing, no snapshot any more: it can say
  "expired" instead of returning part of the rows;
- a crash at any point leaves contiguous snapshots and at worst orphan files that nothing refers to, never a snapshot
  without its files; the next run goes on from there;
- tags are listed again once the snapshots are gone: a tag made meanwhile is either seen then, and its files stay, or
  its maker sees that the snapshot is gone and takes the tag back.

Expiry and rollback of one table are not meant to run at the same time.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from paimon_core.commit.base import Base
from paimon_core.errors import CorruptTable, InvalidRequest, SnapshotNotFound, UnsupportedFeature
from paimon_core.maintain.garbage import Garbage, Removal, patient_entries, refuse_unbuilt
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.manifest import FileKind, ManifestEntry
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.snapshot_store import EARLIEST


@dataclass(frozen=True)
class ExpireReport:
    """What an expiry did, or with ``dry_run`` would do."""

    table: str
    expired: tuple[int, ...] = ()
    """Snapshot ids, ascending."""
    earliest: int | None = None
    """The first snapshot that is left."""
    removed: Removal = field(default_factory=Removal)
    kept_by_tags: int = 0
    """Data files that would have gone but for a tag."""
    dry_run: bool = False


def expire(
    context: TableContext,
    *,
    retain_min: int,
    retain_max: int,
    older_than_millis: int,
    limit: int,
    protected: Iterable[int] = (),
    dry_run: bool = False,
) -> ExpireReport:
    """Expire the oldest snapshots; the newest ``retain_min`` stay, all beyond ``retain_max`` go.

    Between the two a snapshot goes when the one after it was committed before ``older_than_millis`` (epoch): it was
    not the latest at that time any more. At most ``limit`` go at once, and none from the lowest of ``protected`` and
    of the consumers' next snapshots on. Raises CorruptTable naming what cannot be read, UnsupportedFeature for
    branches, changelogs that outlive snapshots, and table indexes.
    """
    for name, value in (("retain_min", retain_min), ("retain_max", retain_max), ("limit", limit)):
        if value < 1:
            raise InvalidRequest(f"{name} must be 1 or more, not {value}", **{name: value})
    if retain_max < retain_min:
        raise InvalidRequest(f"retain_max {retain_max} is less than retain_min {retain_min}", retain_max=retain_max)
    refuse_unbuilt(context)
    ids = context.snapshots.ids()
    if not ids:
        return ExpireReport(context.name, dry_run=dry_run)
    pinned = [i for i in protected if i >= ids[0]]
    ceiling = min([ids[-1] - retain_min + 1, ids[0] + limit, *_consumers(context), *pinned])
    expired, first_kept = _choose(context, ids, ceiling, ids[-1] - retain_max + 1, older_than_millis)
    if not expired or first_kept is None:
        if not dry_run and not context.storage.exists(context.paths.hint(EARLIEST)):
            context.snapshots.write_earliest_hint(ids[0])
        return ExpireReport(context.name, earliest=ids[0], dry_run=dry_run)
    return _expire(context, expired, first_kept, dry_run)


def _choose(
    context: TableContext, ids: Sequence[int], ceiling: int, forced_below: int, older_than_millis: int
) -> tuple[list[Snapshot], Snapshot | None]:
    """The snapshots to expire and the first one to keep; ids may have gaps, and snapshots may vanish meanwhile."""
    expired: list[Snapshot] = []
    current: Snapshot | None = None
    for snapshot_id in ids:
        try:
            following = context.snapshots.read(snapshot_id)
        except SnapshotNotFound:
            continue
        if current is not None:
            young = following.time_millis >= older_than_millis
            if current.id >= ceiling or (young and current.id >= forced_below):
                break
            expired.append(current)
        current = following
    return expired, current


def _expire(context: TableContext, expired: list[Snapshot], first_kept: Snapshot, dry_run: bool) -> ExpireReport:
    ids = tuple(s.id for s in expired)
    base = Base(context, first_kept)
    tags = context.tags.list()
    try:
        garbage = _collect(context, expired, base)
        garbage.keep([first_kept])
        kept = garbage.keep(t.snapshot for t in tags)
    except CorruptTable:
        if base.is_current():
            raise
        return ExpireReport(context.name, dry_run=dry_run)  # another expiry was faster
    if dry_run:
        return ExpireReport(context.name, ids, first_kept.id, garbage.removal(), kept, dry_run)
    if not base.is_current():
        return ExpireReport(context.name)
    context.snapshots.delete(ids)
    with contextlib.suppress(OSError):  # only a hint
        context.snapshots.write_earliest_hint(first_kept.id)
    kept += garbage.keep(t.snapshot for t in context.tags.list() if t not in tags)
    removal = garbage.removal()
    context.storage.delete(removal.paths)
    return ExpireReport(context.name, ids, first_kept.id, removal, kept)


def _collect(context: TableContext, expired: Sequence[Snapshot], base: Base) -> Garbage:
    """The candidates: a file that the delta of a snapshot deletes was last used by the snapshot before it.

    The delta of the very first snapshot deletes what is gone already, unless an earlier run was cut short.
    """
    first_kept = base.snapshot
    assert first_kept is not None
    garbage = Garbage(context)
    for snapshot in expired:
        _add_deleted(garbage, list(patient_entries(context, snapshot.delta_manifest_list)))
    delta = context.manifests.read_list(first_kept.delta_manifest_list, first_kept.delta_manifest_list_size)
    _add_deleted(garbage, [entry for manifest in delta for entry in base.read(manifest)])
    for snapshot in expired:
        if snapshot.index_manifest not in (None, first_kept.index_manifest):
            raise UnsupportedFeature(
                f"table {context.name}: snapshot {snapshot.id} has table indexes, which expiry does not know",
                table=context.name,
                snapshot=snapshot.id,
            )
        garbage.add_metadata(snapshot)
        garbage.add_changelog(snapshot)
    return garbage


def _add_deleted(garbage: Garbage, delta: Sequence[ManifestEntry]) -> None:
    """Files with a DELETE entry, but not those that the same delta adds again: an upgrade to another level."""
    added = {e.file.file_name for e in delta if e.kind is FileKind.ADD}
    for entry in delta:
        if entry.kind is FileKind.DELETE and entry.file.file_name not in added:
            garbage.add_file(entry)


def _consumers(context: TableContext) -> list[int]:
    """The next snapshot of every streaming reader (format 15.6); a file that does not say stops the expiry."""
    found = []
    for entry in context.storage.list(context.paths.consumer_directory):
        if not entry.name.startswith("consumer-") or entry.is_directory:
            continue
        try:
            following = json.loads(context.storage.read(entry.path))["nextSnapshot"]
        except FileNotFoundError:
            continue
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise CorruptTable(f"{entry.path} does not say its nextSnapshot: {error!r}", path=entry.path) from error
        if type(following) is not int:
            raise CorruptTable(f"{entry.path}: nextSnapshot is {following!r:.80}", path=entry.path)
        found.append(following)
    return found

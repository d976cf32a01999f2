"""Tags: give a snapshot a name that outlives it, and take it back with the files that only it kept (format 15.1, 16.4).

A tag and an expiry may meet: the maker of a tag looks once more, after writing it, that something still holds the
snapshot, and the expiry lists the tags once more after the snapshots are gone, so one of them sees the other.
"""

from __future__ import annotations

import contextlib

from paimon_core.errors import CorruptTable, SnapshotNotFound, TagNotFound
from paimon_core.maintain.garbage import Garbage, Removal, patient_entries, refuse_unbuilt
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.manifest_file import live_entries
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.tag_store import Tag


def create_tag(
    context: TableContext,
    name: str,
    snapshot: Snapshot,
    retained_millis: int | None = None,
    *,
    now_millis: int | None = None,
) -> Tag:
    """Name a snapshot, for ``retained_millis`` or until the tag is deleted.

    Raises AlreadyExists, InvalidRequest for what is no file name, SnapshotNotFound when the snapshot has expired, also
    while the tag was being made.
    """
    _check_held(context, snapshot, name)
    tag = context.tags.create(name, snapshot, retained_millis=retained_millis, now_millis=now_millis)
    try:
        _check_held(context, snapshot, name)
    except SnapshotNotFound:
        with contextlib.suppress(TagNotFound):
            context.tags.delete(name)
        raise
    return tag


def delete_tag(context: TableContext, name: str, *, dry_run: bool = False) -> Removal:
    """Remove a tag and, when its snapshot has expired, the files that no snapshot and no other tag uses.

    The tag goes first, so that a crash leaves orphan files and no tag without its files. Index files are left. Raises
    TagNotFound, CorruptTable when a snapshot or another tag cannot be read whole (nothing is deleted then), and
    UnsupportedFeature for an expired snapshot of a table with branches.
    """
    tag = context.tags.read(name)
    garbage = Garbage(context)
    others = [t for t in context.tags.list() if t.name != name]
    if not _is_live(context, tag.snapshot):
        refuse_unbuilt(context)
        entries = (
            entry
            for list_name in (tag.snapshot.base_manifest_list, tag.snapshot.delta_manifest_list)
            for entry in patient_entries(context, list_name)
        )
        for entry in live_entries(entries):
            garbage.add_file(entry)
        garbage.add_metadata(tag.snapshot)
        _keep_live(context, garbage)
        garbage.keep(t.snapshot for t in others)
    if dry_run:
        return garbage.removal()
    context.tags.delete(name)
    garbage.keep(t.snapshot for t in context.tags.list() if t not in others)
    removal = garbage.removal()
    context.storage.delete(removal.paths)
    return removal


def expire_tags(context: TableContext, now_millis: int) -> list[str]:
    """Delete the tags whose retention is over; their names."""
    over = [t.name for t in context.tags.list() if t.expires_millis is not None and t.expires_millis < now_millis]
    deleted = []
    for name in over:
        with contextlib.suppress(TagNotFound):  # somebody else was faster
            delete_tag(context, name)
            deleted.append(name)
    return deleted


def _check_held(context: TableContext, snapshot: Snapshot, name: str) -> None:
    """Raises SnapshotNotFound unless the snapshot is live or another tag holds it."""
    if _is_live(context, snapshot):
        return
    if not any(t.snapshot == snapshot for t in context.tags.list() if t.name != name):
        raise SnapshotNotFound(
            f"table {context.name}: snapshot {snapshot.id} has expired and cannot be tagged {name!r}",
            snapshot=snapshot.id,
            tag=name,
        )


def _is_live(context: TableContext, snapshot: Snapshot) -> bool:
    try:
        return context.snapshots.read(snapshot.id) == snapshot
    except SnapshotNotFound:
        return False


def _keep_live(context: TableContext, garbage: Garbage) -> None:
    for snapshot_id in context.snapshots.ids():
        try:
            snapshot = context.snapshots.read(snapshot_id)
        except SnapshotNotFound:
            continue
        try:
            garbage.keep([snapshot])
        except CorruptTable:
            if _is_live(context, snapshot):
                raise  # it did not expire while we read it

"""Tags: give a snapshot a name that outlives it, and take it back with the files that only it kept (format 15.1, 16.4).

A tag and an expiry may meet: the maker of a tag looks once more, after writing it, that something still holds the
snapshot, and whoever deletes lists all references once more after what held the files is gone, so one of them sees the
other. The same holds between a tag that is renamed or turned into a branch and the deletion of that tag.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace

from paimon_core.errors import AlreadyExists, CorruptTable, SnapshotNotFound, TagNotFound
from paimon_core.maintain.planning.existing_files import existing_files
from paimon_core.maintain.planning.plan import Plan
from paimon_core.maintain.planning.table_state import TableState
from paimon_core.maintain.references.removable_files import Removal
from paimon_core.maintain.tags.names import check_new_name
from paimon_core.maintain.tags.release import only_of, release
from paimon_core.maintain.tags.success_files import note_created, note_deleted
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.stores.tag_store import Tag, new_tag
from paimon_core.metadata.table_identity import check_same_table

OPERATION = "delete-tag"


def create_tag(
    context: TableContext,
    name: str,
    snapshot: Snapshot,
    retained_millis: int | None = None,
    *,
    now_millis: int | None = None,
) -> Tag:
    """Name a snapshot, for ``retained_millis`` or until the tag is deleted.

    Raises AlreadyExists, InvalidRequest for a name that cannot be, SnapshotNotFound when the snapshot has expired, also
    while the tag was being made, TableNotFound when the table was dropped or made anew meanwhile: the tag goes again.
    """
    check_new_name(context, name, snapshot)
    check_held(context, snapshot, name)
    tag = context.tags.create(name, snapshot, retained_millis=retained_millis, now_millis=now_millis)
    try:
        check_held(context, snapshot, name)
    except SnapshotNotFound:
        with contextlib.suppress(TagNotFound):
            context.tags.delete(name)
        check_same_table(context)
        raise
    note_created(context, name)
    return tag


def rename_tag(context: TableContext, name: str, new_name: str) -> Tag:
    """Give a tag another name; its own name changes nothing. After a crash both names exist; the same call finishes.

    Another tag under the new name is never replaced, even one of the same snapshot. A tag that an interrupted rename
    made is recognised, as it names the file that it was made from. Raises TagNotFound, AlreadyExists, InvalidRequest.
    """
    old = context.tags.read(name)
    if name == new_name:
        return old
    source = context.tags.source(name)
    check_new_name(context, new_name, old.snapshot, instead_of=name)
    new = replace(old, name=new_name)
    try:
        context.tags.add(new, source)
    except AlreadyExists:
        if context.tags.read(new_name) != new or context.tags.renamed_from(new_name) != source:
            raise
    if not stands(context, old):  # and perhaps its files went with it
        with contextlib.suppress(TagNotFound):
            context.tags.delete(new_name)
        raise TagNotFound(f"tag {name!r} of table {context.name} was deleted or moved while it was renamed", tag=name)
    with contextlib.suppress(TagNotFound):
        context.tags.delete(name)
    return new


def replace_tag(context: TableContext, name: str, snapshot: Snapshot, retained_millis: int | None = None) -> Tag:
    """Let a tag that exists name another snapshot: readers see the old or the new one.

    What only the old one kept is deleted. Raises TagNotFound, SnapshotNotFound when the new one has expired.
    """
    old = context.tags.read(name)
    new = new_tag(name, snapshot, retained_millis)
    check_held(context, snapshot, "")
    held = context.tags.read(name)

    def put() -> None:
        context.tags.put(new)
        try:
            check_held(context, snapshot, name)
        except SnapshotNotFound:
            context.tags.put(held)  # its files are all there yet
            raise

    release(context, old, put, becomes=new)
    note_created(context, name)
    return new


def delete_tag(context: TableContext, name: str, *, dry_run: bool = False) -> Removal:
    """Remove a tag and, when its snapshot has expired, the files that nothing else on any branch uses.

    The tag goes first, so that a crash leaves orphan files and no tag without its files. Raises TagNotFound,
    CorruptTable when this tag, a snapshot or another tag cannot be read whole: nothing is deleted then.
    """
    tag = _read_to_delete(context, name)
    if not dry_run:
        return drop_tag(context, tag)
    data, metadata = only_of(context, tag).files()
    return Removal.of(existing_files(context.storage, data), existing_files(context.storage, metadata))


def drop_tag(context: TableContext, tag: Tag, allowed: frozenset[str] | None = None) -> Removal:
    """Remove a tag that was read, and what only it used, of that only the paths ``allowed``; as ``delete_tag``."""

    def drop() -> None:
        context.tags.delete(tag.name)
        note_deleted(context, tag.name)

    return release(context, tag, drop, allowed=allowed)


def plan_tag_deletion(context: TableContext, name: str) -> Plan:
    """What deleting a tag takes with it; raises as ``delete_tag``."""
    state = TableState.of(context)
    data, metadata = only_of(context, _read_to_delete(context, name)).files()
    return Plan(
        OPERATION,
        context.name,
        context.branch,
        state,
        (f"tag {name}",),
        existing_files(context.storage, (*data, *metadata)),
        arguments={"tag": name},
    )


def apply_tag_deletion(context: TableContext, plan: Plan) -> Removal:
    """Delete the planned tag and files, fewer when something has come to use them since; raises PlanOutdated."""
    plan.check(context, OPERATION)
    tag = _read_to_delete(context, plan.argument("tag", str))
    return drop_tag(context, tag, frozenset(f.path for f in plan.files))


def stands(context: TableContext, tag: Tag) -> bool:
    """Whether the tag is there and still names the same snapshot."""
    try:
        return context.tags.read(tag.name).snapshot == tag.snapshot
    except TagNotFound:
        return False


def check_held(context: TableContext, snapshot: Snapshot, name: str) -> None:
    """Raises SnapshotNotFound unless the snapshot is live or a tag other than ``name`` holds it."""
    if context.snapshots.is_live(snapshot):
        return
    if not any(t.snapshot == snapshot for t in context.tags.list() if t.name != name):
        raise SnapshotNotFound(
            f"table {context.name}: snapshot {snapshot.id} has expired and cannot be tagged {name!r}",
            snapshot=snapshot.id,
            tag=name,
        )


def _read_to_delete(context: TableContext, name: str) -> Tag:
    """The tag; raises CorruptTable with what is left to do for one that does not say what it holds."""
    try:
        return context.tags.read(name)
    except CorruptTable as error:
        path = context.paths.tag(name)
        raise CorruptTable(
            f"tag {name!r} of table {context.name} does not say which files it holds: {error}. Nothing was deleted; "
            f"run fsck, and if the tag cannot be restored delete its file {path} by hand: what only it held is then "
            "found as orphans",
            **{**error.facts, "path": path, "tag": name, "table": context.name},
        ) from error

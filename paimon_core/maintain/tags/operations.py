"""Tags: creates, renames, replaces and deletes tags, with the files that only a tag uses (format 15.1, 16.4).

A tag keeps the files of its snapshot after the snapshot has expired. A tag may be created while an expiry runs. After
writing the tag, its creator checks that the snapshot is still live or has another tag; after deleting the snapshot
file, the expiry lists all tags again. So the creator notices the expiry, or the expiry finds the tag. The same order of
steps is used when a tag is renamed and when a branch is created from a tag, because the tag may be deleted at the same
time.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace

from paimon_core.errors import AlreadyExists, CorruptTable, SnapshotNotFound, TagNotFound
from paimon_core.maintain.planning.existing_files import existing_files
from paimon_core.maintain.planning.plan import Plan
from paimon_core.maintain.planning.table_state import TableState
from paimon_core.maintain.references.removable_files import Removal
from paimon_core.maintain.tags.name_rules import check_new_name
from paimon_core.maintain.tags.release import files_used_only_by, release
from paimon_core.maintain.tags.success_files import delete_success_file_of_tag, write_success_file_of_tag
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
    """Create a tag of a snapshot, kept for ``retained_millis`` or until it is deleted.

    Raises AlreadyExists; InvalidRequest for a name that is not allowed; SnapshotNotFound when the snapshot has expired;
    TableNotFound when the table was dropped or re-created during the call. When the snapshot expires or the table is
    dropped while the tag is created, the tag is deleted again.
    """
    check_new_name(context, name, snapshot)
    check_live_or_tagged(context, snapshot, name)
    tag = context.tags.create(name, snapshot, retained_millis=retained_millis, now_millis=now_millis)
    try:
        check_live_or_tagged(context, snapshot, name)
    except SnapshotNotFound:
        with contextlib.suppress(TagNotFound):
            context.tags.delete(name)
        check_same_table(context)
        raise
    write_success_file_of_tag(context, name)
    return tag


def rename_tag(context: TableContext, name: str, new_name: str) -> Tag:
    """Rename a tag and return it; nothing happens when both names are equal.

    After a crash both names may exist; the same call then completes the rename. An existing tag with the new name is
    never replaced, even when it references the same snapshot. A tag that an interrupted rename created is recognised,
    because the new tag records the file from which it was copied. Raises TagNotFound, also when the old tag is deleted
    during the call; AlreadyExists; InvalidRequest for a name that is not allowed.
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
    if not is_unchanged(context, old):  # a deletion of the old tag may also have deleted the files
        with contextlib.suppress(TagNotFound):
            context.tags.delete(new_name)
        raise TagNotFound(
            f"tag {name!r} of table {context.name} was deleted or replaced while it was renamed", tag=name
        )
    with contextlib.suppress(TagNotFound):
        context.tags.delete(name)
    return new


def replace_tag(context: TableContext, name: str, snapshot: Snapshot, retained_millis: int | None = None) -> Tag:
    """Make an existing tag reference another snapshot in one atomic step; return the new tag.

    Files that only the old tag used are deleted. Raises TagNotFound when the tag does not exist, SnapshotNotFound when
    ``snapshot`` has expired.
    """
    old = context.tags.read(name)
    new = new_tag(name, snapshot, retained_millis)
    check_live_or_tagged(context, snapshot, "")
    current = context.tags.read(name)

    def put() -> None:
        context.tags.put(new)
        try:
            check_live_or_tagged(context, snapshot, name)
        except SnapshotNotFound:
            context.tags.put(current)  # the files of the current tag were not deleted yet
            raise

    release(context, old, put, becomes=new)
    write_success_file_of_tag(context, name)
    return new


def delete_tag(context: TableContext, name: str, *, dry_run: bool = False) -> Removal:
    """Delete a tag and, when its snapshot has expired, the files that nothing else on any branch uses.

    The tag is deleted first, so that a crash leaves orphan files but no tag with missing files. With ``dry_run``,
    nothing is deleted. Raises TagNotFound; CorruptTable, before anything is deleted, when this tag, a snapshot or
    another tag cannot be read completely.
    """
    tag = _read_to_delete(context, name)
    if not dry_run:
        return drop_tag(context, tag)
    data, metadata = files_used_only_by(context, tag).files()
    return Removal.of(existing_files(context.storage, data), existing_files(context.storage, metadata))


def drop_tag(context: TableContext, tag: Tag, allowed: frozenset[str] | None = None) -> Removal:
    """Delete a tag and the files that only this tag used, as ``delete_tag`` does; ``allowed`` restricts the files."""

    def drop() -> None:
        context.tags.delete(tag.name)
        delete_success_file_of_tag(context, tag.name)

    return release(context, tag, drop, allowed=allowed)


def plan_tag_deletion(context: TableContext, name: str) -> Plan:
    """Plan the deletion of a tag and of the files that only this tag uses; raises the errors of ``delete_tag``."""
    state = TableState.of(context)
    data, metadata = files_used_only_by(context, _read_to_delete(context, name)).files()
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
    """Delete the planned tag, then the planned files that nothing references.

    Raises PlanOutdated when the table has changed.
    """
    plan.check(context, OPERATION)
    tag = _read_to_delete(context, plan.argument("tag", str))
    return drop_tag(context, tag, frozenset(f.path for f in plan.files))


def is_unchanged(context: TableContext, tag: Tag) -> bool:
    """Whether the tag exists and still references the same snapshot."""
    try:
        return context.tags.read(tag.name).snapshot == tag.snapshot
    except TagNotFound:
        return False


def check_live_or_tagged(context: TableContext, snapshot: Snapshot, name: str) -> None:
    """Raise SnapshotNotFound unless the snapshot is live or referenced by a tag other than ``name``."""
    if context.snapshots.is_live(snapshot):
        return
    if not any(t.snapshot == snapshot for t in context.tags.list() if t.name != name):
        raise SnapshotNotFound(
            f"table {context.name}: snapshot {snapshot.id} has expired and cannot be tagged {name!r}",
            snapshot=snapshot.id,
            tag=name,
        )


def _read_to_delete(context: TableContext, name: str) -> Tag:
    """Read the tag; the CorruptTable of an unreadable tag states how to proceed."""
    try:
        return context.tags.read(name)
    except CorruptTable as error:
        path = context.paths.tag(name)
        raise CorruptTable(
            f"tag {name!r} of table {context.name} cannot be read, so the files that it uses cannot be determined: "
            f"{error}. Nothing was deleted. Run fsck; if the tag cannot be restored, delete its file {path} by hand, "
            "and then remove the files that only it used as orphans",
            **{**error.facts, "path": path, "tag": name, "table": context.name},
        ) from error

"""Tag release: deletes a tag, then the files that nothing else on any branch uses (format 15.1, 16.4).

The snapshots that use a file have consecutive ids. So when a snapshot before or after the tag's snapshot uses a file,
the nearest live snapshot before or after the tag's snapshot also uses it. On the branch of the tag it is therefore
enough to read the two nearest live snapshots and the latest snapshot. All roots of other branches are read, because a
branch may start at any snapshot.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable
from dataclasses import replace

from paimon_core.maintain.planning.existing_files import existing_files
from paimon_core.maintain.planning.plan import PlannedFile
from paimon_core.maintain.references.protected_files import keep_branches, keep_own_changelogs, seen_now, used_since
from paimon_core.maintain.references.removable_files import RemovableFiles, Removal, readable_entries
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.manifests.manifest_file import live_entries
from paimon_core.metadata.read_again import read_again
from paimon_core.metadata.stores.tag_store import Tag


def files_used_only_by(context: TableContext, *tags: Tag) -> RemovableFiles:
    """Return the files that only these tags use; the files of a tag whose snapshot is live are not included.

    Raises CorruptTable when a snapshot, another tag or a branch cannot be read completely.
    """
    return read_again(lambda: _only_of(context, tags))


def release(
    context: TableContext,
    tag: Tag,
    drop: Callable[[], None],
    *,
    allowed: frozenset[str] | None = None,
    becomes: Tag | None = None,
) -> Removal:
    """Call ``drop`` to delete or replace the tag, then delete the files that only the tag used. Return these files.

    ``allowed`` restricts the deletion to these paths; ``becomes`` is the new tag if ``drop`` replaces the old tag.
    Files that are used by a tag or branch created during the call are kept. Raises the errors of
    ``files_used_only_by``, before ``drop`` is called.
    """
    seen = seen_now(context)
    removable = files_used_only_by(context, tag)
    if becomes is not None:
        removable.keep([becomes.snapshot])
        mark = (context.branch, becomes.name, becomes.snapshot.delta_manifest_list)
        seen = replace(seen, tags=seen.tags | {mark})
    data, metadata = removable.files()
    drop()
    if not data and not metadata:
        return Removal()
    used = used_since(context, seen, (*data, *metadata))
    if context.snapshots.is_live(tag.snapshot):  # a rollback has restored the snapshot
        return Removal()

    def is_removable(file: PlannedFile) -> bool:
        return file.path not in used and (allowed is None or file.path in allowed)

    removal = Removal.of(*(existing_files(context.storage, filter(is_removable, files)) for files in (data, metadata)))
    context.storage.delete(removal.paths)
    return removal


def _only_of(context: TableContext, tags: tuple[Tag, ...]) -> RemovableFiles:
    removable = RemovableFiles(context)
    expired = [tag.snapshot for tag in tags if not context.snapshots.is_live(tag.snapshot)]
    if not expired:
        return removable
    for snapshot in expired:
        entries = (
            entry
            for list_name in (snapshot.base_manifest_list, snapshot.delta_manifest_list)
            for entry in readable_entries(context, list_name)
        )
        for entry in live_entries(entries):
            removable.add_file(entry)
        removable.add_metadata(snapshot)
    ids = context.snapshots.ids()
    near = set(ids[-1:])
    for snapshot in expired:
        at = bisect.bisect(ids, snapshot.id)
        near.update(ids[max(at - 1, 0) : at + 1])
    removable.keep(map(context.snapshots.read, sorted(near)))
    names = {tag.name for tag in tags}
    removable.keep(t.snapshot for t in context.tags.list() if t.name not in names)
    keep_branches(removable)
    keep_own_changelogs(removable)
    return removable

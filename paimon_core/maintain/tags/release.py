"""Take a tag away, and then the files that only it used, on whatever branch others use them (format 15.1, 16.4).

A file lives in a row of snapshots without gaps: one that a snapshot beyond the tag's uses is used by the nearest live
snapshot on that side. So of the table's own branch only the neighbours are asked, and the latest; of other branches,
whose history may fork anywhere, everything is.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable
from dataclasses import replace

from paimon_core.maintain.planning.existing_files import existing_files
from paimon_core.maintain.planning.plan import PlannedFile
from paimon_core.maintain.references.protected_files import keep_branches, keep_own_changelogs, seen_now, used_since
from paimon_core.maintain.references.removable_files import RemovableFiles, Removal, patient_entries
from paimon_core.maintain.retry_when_vanished import retry_when_vanished
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.manifest_file import live_entries
from paimon_core.metadata.stores.tag_store import Tag


def only_of(context: TableContext, *tags: Tag) -> RemovableFiles:
    """The files that only these tags use; none of one whose snapshot is live.

    Raises CorruptTable for anything that stands and cannot be read whole.
    """
    return retry_when_vanished(lambda: _only_of(context, tags))


def release(
    context: TableContext,
    tag: Tag,
    drop: Callable[[], None],
    *,
    allowed: frozenset[str] | None = None,
    becomes: Tag | None = None,
) -> Removal:
    """``drop`` the tag, then delete what only it used, of that only what is ``allowed``; what was deleted.

    ``becomes``: what the tag then is instead. What came to be held meanwhile stays. Raises as ``only_of``, with the tag
    still there.
    """
    seen = seen_now(context)
    removable = only_of(context, tag)
    if becomes is not None:
        removable.keep([becomes.snapshot])
        mark = (context.branch, becomes.name, becomes.snapshot.delta_manifest_list)
        seen = replace(seen, tags=seen.tags | {mark})
    data, metadata = removable.files()
    drop()
    if not data and not metadata:
        return Removal()
    used = used_since(context, seen, (*data, *metadata))
    if context.snapshots.is_live(tag.snapshot):  # a rollback has brought it back
        return Removal()

    def goes(file: PlannedFile) -> bool:
        return file.path not in used and (allowed is None or file.path in allowed)

    removal = Removal.of(*(existing_files(context.storage, filter(goes, files)) for files in (data, metadata)))
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
            for entry in patient_entries(context, list_name)
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

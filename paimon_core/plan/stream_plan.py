"""Stream plan: the units of work of a streaming read for one snapshot, found without opening a data file (format 10,
15.4).

The *full* phase reads the whole content of a snapshot. This phase leaves out the levels whose rows will be in a later
changelog: level 0 if the changelog producer is lookup, all levels except the last if it is full-compaction. Afterwards
the changes of each snapshot are read: its changelog if the table has a changelog producer, otherwise the files of
APPEND snapshots. Compactions change no row. An overwrite does not record the rows that it replaced, so its changes are
the difference to the previous version.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from paimon_core.errors import InvalidRequest, ReadOutdated, SnapshotNotFound, UnsupportedFeature
from paimon_core.lsm.key_order import key_order
from paimon_core.lsm.levels import num_levels
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.known_deletes import has_no_deletes
from paimon_core.metadata.manifests.entries import FileKind
from paimon_core.metadata.snapshot import CommitKind, Snapshot
from paimon_core.plan.changed_places import ChangedPlace, changed_places
from paimon_core.plan.changelog_plan import ChangedFile, changed_files
from paimon_core.plan.plan_scan import hides_level_0, plan_scan
from paimon_core.plan.split import Packing, Split, pack_keyed
from paimon_core.predicate import Predicate

Unit = Split | ChangedFile | ChangedPlace
"""The work of one task: a split of the full phase, one file of changes, or a place that an overwrite has changed."""
FULL, DELTA, CHANGELOG, OVERWRITE = "full", "delta", "changelog", "overwrite"
CHANGES, SKIP, FAIL, ADDED = "changes", "skip", "fail", "added"
ON_OVERWRITE = (CHANGES, SKIP, FAIL, ADDED)


@dataclass(frozen=True)
class SnapshotPlan:
    """The units of one snapshot, in a fixed order: planning the same snapshot again gives the same units."""

    snapshot: Snapshot
    kind: str
    """"full", "delta", "changelog", or "overwrite"."""
    units: tuple[Unit, ...]


def reading_context(context: TableContext) -> TableContext:
    """Return the context that reads the full phase; this context reads level 0 unless a later changelog will contain
    the rows of level 0.
    """
    return context if _producer(context) in ("lookup", "full-compaction") else context.merging_level_0()


def plan_full(context: TableContext, snapshot: Snapshot, where: Predicate | None) -> SnapshotPlan:
    """Plan the full phase at ``snapshot``.

    Raises UnsupportedFeature for a first-row table without a changelog producer that has files in level 0: only a
    compaction decides which rows in these files are the first rows of their keys.
    """
    context = reading_context(context)
    options, schema = context.options, context.schema
    plan = plan_scan(
        snapshot=snapshot,
        schema=schema,
        options=options,
        manifests=context.manifests,
        schemas=context.schemas.read,
        where=where,
    )
    producer = _producer(context)
    if producer == "none" and hides_level_0(schema, options) and plan.counts.awaiting_compaction:
        raise UnsupportedFeature(
            f"table {context.name} has merge-engine first-row, and snapshot {snapshot.id} contains "
            f"{plan.counts.awaiting_compaction} files that no compaction has merged: compact the table first",
            table=context.name,
            snapshot=snapshot.id,
        )
    splits: Sequence[Split] = plan.splits
    if least := _least_level(context):
        splits = [left for split in splits if (left := _above(context, split, least)) is not None]
    return SnapshotPlan(snapshot, FULL, tuple(splits))


def _above(context: TableContext, split: Split, least: int) -> Split | None:
    """Return the split with only its files of level ``least`` or a higher level; None when the split has no such file.

    The keys of a split occur in no other split, so its files can be packed without the files of other splits.
    """
    files = tuple(f for f in split.files if f.level >= least)
    if len(files) == len(split.files) or not files:
        return split if files else None
    order = key_order([f.type for f in context.schema.key_fields])
    (kept, layout), *more = pack_keyed(
        files, order, Packing(2**62, 0), is_clean=partial(has_no_deletes, options=context.options)
    )
    if more:  # the split has raw files and merged sections: merge all files
        packed = [(kept, layout), *more]
        kept, layout = (), ()
        for some, sections in packed:
            shift = len(kept)
            sections = sections or tuple(((at,),) for at in range(len(some)))
            layout += tuple(tuple(tuple(at + shift for at in run) for run in section) for section in sections)
            kept += some
    vectors = {f.file_name: split.vectors[f.file_name] for f in kept if f.file_name in split.vectors}
    return replace(split, files=kept, raw=not layout, layout=layout, vectors=vectors)


def plan_changes(context: TableContext, snapshot: Snapshot, on_overwrite: str) -> SnapshotPlan | None:
    """Plan the changes of ``snapshot``; None when it changed no row.

    ``on_overwrite`` selects the result for an OVERWRITE snapshot: its changes ("changes"), nothing ("skip", as in
    Java), or the files that it added ("added", as in Java with ``streaming-read-append-overwrite``). With "fail",
    InvalidRequest is raised if the snapshot replaced or deleted rows. Raises SnapshotNotFound when the version before
    an overwrite is needed to find its changes and has expired.
    """
    if snapshot.commit_kind is CommitKind.OVERWRITE:
        units = () if on_overwrite == SKIP else tuple(_overwritten(context, snapshot, on_overwrite))
        return SnapshotPlan(snapshot, OVERWRITE, units) if units else None
    units = tuple(changed_files(context, snapshot))
    kind = DELTA if _producer(context) == "none" else CHANGELOG
    return SnapshotPlan(snapshot, kind, units) if units else None


def _overwritten(context: TableContext, snapshot: Snapshot, on_overwrite: str) -> Iterator[Unit]:
    """Return the units of an overwrite: the files that it added, or the places in which it changed files.

    Rows in the levels that ``_least_level`` excludes are not returned, whether the overwrite added or removed the rows:
    a later changelog contains these rows.
    """
    kinds = _entry_kinds(context, snapshot)
    certain = context.is_keyed or snapshot.index_manifest is None
    if not kinds and certain:
        return iter(())
    only_added, told = kinds == {FileKind.ADD} and certain, _least_level(context)
    if on_overwrite == ADDED or (only_added and told == 0):
        return changed_files(context, snapshot, overwrites=True)
    if on_overwrite == FAIL and not only_added:
        raise InvalidRequest(
            f"snapshot {snapshot.id} of table {context.name} (OVERWRITE) has replaced or deleted rows, and "
            "on_overwrite is 'fail'",
            table=context.name,
            snapshot=snapshot.id,
        )
    return changed_places(context, version_before(context, snapshot), snapshot, least_level=told)


def _entry_kinds(context: TableContext, snapshot: Snapshot) -> set[FileKind]:
    """Return the kinds of the snapshot's delta entries: ADD if it added files, DELETE if it deleted files."""
    manifests = context.manifests
    with manifests.reading(snapshot):
        listed = manifests.read_list(snapshot.delta_manifest_list, snapshot.delta_manifest_list_size)
        return {e.kind for m in listed for e in manifests.read_manifest(m.file_name, m.file_size)}


def version_before(context: TableContext, snapshot: Snapshot) -> Snapshot | None:
    """Return the version that an overwrite has changed, from its snapshot or from a tag.

    Return None when there was no earlier version. Raises SnapshotNotFound when the version has expired and no tag
    references it.
    """
    if snapshot.id == 1:
        return None
    found = [s for s in _of_id(context, snapshot.id - 1) if snapshot.is_built_on(s) is not False]
    if not found:
        raise SnapshotNotFound(
            f"snapshot {snapshot.id} of table {context.name} (OVERWRITE) has replaced or deleted rows. Its changes are "
            f"the difference to snapshot {snapshot.id - 1}, which has expired. Start again from the full content, or "
            "pass on_overwrite='skip' to leave them out",
            table=context.name,
            snapshot=snapshot.id - 1,
        )
    return found[0]


def _of_id(context: TableContext, snapshot_id: int) -> list[Snapshot]:
    try:
        return [context.snapshots.read(snapshot_id)]
    except SnapshotNotFound:
        return [tag.snapshot for tag in context.tags.list() if tag.snapshot.id == snapshot_id]


def _least_level(context: TableContext) -> int:
    """Return the lowest level that a stream reads from data files.

    The stream reads the rows of lower levels from the changelog.
    """
    producer = _producer(context)
    return 1 if producer == "lookup" else num_levels(context.options) - 1 if producer == "full-compaction" else 0


def _producer(context: TableContext) -> str:
    return str(context.options["changelog-producer"]) if context.is_keyed else "none"


def check_history(
    context: TableContext, next_id: int, previous: str, previous_uuid: str, found: Snapshot | None
) -> None:
    """Check that the snapshots before ``next_id`` are the snapshots that the stream has read.

    Call it after reading ``found``. ``found`` is the snapshot ``next_id``, or None when this snapshot does not exist.
    ``previous`` is the delta manifest list of the last snapshot that the stream has read, and ``previous_uuid`` the
    UUID of this snapshot; both are "" if not known. Raises ReadOutdated when a rollback has deleted snapshots that were
    read, SnapshotNotFound when ``next_id`` has expired.
    """
    before = _live_or_changelog(context, next_id - 1) if previous else None
    if before is not None and before.delta_manifest_list != previous:
        _raise_rolled_back(context, next_id - 1)
    if found is not None:
        base = found.base if found.id == next_id and before is None and previous_uuid else None
        if base is not None and base.startswith(f"{next_id - 1} ") and base != f"{next_id - 1} {previous_uuid}":
            _raise_rolled_back(context, next_id - 1)
        return
    ids = context.snapshots.ids()
    if next_id > max(ids, default=0) + 1:
        _raise_rolled_back(context, next_id - 1)
    if ids and ids[0] > next_id:
        raise SnapshotNotFound(
            f"table {context.name}: snapshot {next_id} has expired before a stream has read its changes; the earliest "
            f"is {ids[0]}. Start again from the full content; a consumer protects the snapshots that it has not read",
            table=context.name,
            snapshot=next_id,
        )


def _live_or_changelog(context: TableContext, snapshot_id: int) -> Snapshot | None:
    for store in (context.snapshots, context.changelogs):
        try:
            return store.read(snapshot_id)
        except SnapshotNotFound:
            continue
    return None


def _raise_rolled_back(context: TableContext, snapshot_id: int) -> None:
    raise ReadOutdated(
        f"table {context.name} was rolled back: snapshot {snapshot_id}, which the stream has read, does not exist or "
        "is now another snapshot. Start again from the full content",
        table=context.name,
        snapshot=snapshot_id,
    )

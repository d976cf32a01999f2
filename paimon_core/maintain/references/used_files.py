"""Used files: computes the names of all files that a table still uses, or raises an error (format 16.6).

A clean-up that misses one reference deletes live data, so everything is read: every branch, snapshot, tag and
changelog, all manifests with their ADD and DELETE entries, extra files, index files and statistics. A file that cannot
be read raises an error. Files are identified by name, because file names are unique.

A snapshot may expire while it is read. Then the scan is retried from a new listing, at most ``SCANS`` times in all. The
names that an earlier scan found remain in the result: an additional name only prevents the deletion of a file. An
incomplete set is never returned: the files of a snapshot that was not read would look like orphans.

The work can be split: ``metadata_names`` by roots, ``data_names`` by manifests. Both functions only read, and the
caller unites their results. Manifests are read one at a time, and only the requested names in their entries are kept in
memory.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from paimon_core.errors import CorruptTable, PlanOutdated, SnapshotNotFound
from paimon_core.maintain.executor import WorkExecutor
from paimon_core.maintain.roots import Holder, Root, all_roots, contexts_of_branches
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.manifests.index_names import index_file_names
from paimon_core.metadata.manifests.named_entries import FileNames, all_names
from paimon_core.metadata.stores.snapshot_store import EARLIEST, LATEST

SCANS = 4
"""Maximum number of scans; if a snapshot also expires during the last scan, PlanOutdated is raised."""


@dataclass
class Used:
    """The used files, and the metadata files that were read to determine the used files."""

    names: set[str] = field(default_factory=set)
    """The names of all used manifest lists, manifests, index and statistics files, and of the requested data files."""
    read: set[str] = field(default_factory=set)
    """The manifest lists and manifests whose contents are in ``names``; these files never change."""
    roots: int = 0
    """The number of roots that were read."""


@dataclass
class Reached:
    """The files that some roots reference, without the files that are named only in manifests."""

    names: set[str] = field(default_factory=set)
    read: set[str] = field(default_factory=set)
    """The manifest lists and index manifests that were read."""
    manifests: dict[str, bool] = field(default_factory=dict)
    """For each manifest name, whether the manifest must exist."""


def used_names(context: TableContext, roots: Iterable[Root], among: Collection[str] | None = None) -> set[str]:
    """Return the names of the files that the roots use; ``among`` restricts the data files (None: all).

    Raises CorruptTable for a list or manifest that is missing or cannot be read.
    """
    reached = metadata_names(context, roots)
    return reached.names | data_names(context, reached.manifests, among)


def metadata_names(context: TableContext, roots: Iterable[Root], known: Collection[str] = frozenset()) -> Reached:
    """Return the lists, manifests, index files and statistics of the roots; lists in ``known`` are not read.

    Raises CorruptTable for a file that cannot be read, or that is missing although a root needs it.
    """
    reached = Reached()
    listed = list(roots)
    for strict in (True, False):  # a file that is optional for one root may be required by another
        for root in listed:
            for name, must in _lists(root):
                reached.names.add(name)
                if must is strict and name not in known and name not in reached.read:
                    _open_list(context, name, must, reached)
            index, must = root.snapshot.index_manifest, root.holder is not Holder.CHANGELOG
            if index is not None:
                reached.names.add(index)
                if must is strict and index not in known and index not in reached.read:
                    _open_index(context, index, must, reached)
            if root.snapshot.statistics is not None:
                reached.names.add(root.snapshot.statistics)
    return reached


def data_names(
    context: TableContext, manifests: Mapping[str, bool], among: Collection[str] | FileNames | None = None
) -> set[str]:
    """Return the data files and extra files that the manifests add or delete (only names in ``among``).

    ``manifests`` maps the name of each manifest to whether it must exist. Raises CorruptTable for a manifest that
    cannot be read, or that is missing although it must exist.
    """
    names: set[str] = set()
    wanted = among if among is None or isinstance(among, FileNames) else FileNames(among)
    for name, must in manifests.items():
        try:
            entries = context.manifests.read_entries(name, keep=False)
        except CorruptTable as error:
            if must or not error.facts.get("missing"):
                raise
            continue
        names |= all_names(entries) if wanted is None else wanted.used(entries)
    return names


def references(
    context: TableContext,
    among: Collection[str],
    read: Collection[str] = frozenset(),
    executor: WorkExecutor | None = None,
) -> Used:
    """Return the files that the whole table uses now; data files only if their names are in ``among``.

    Lists and manifests in ``read`` are skipped: pass ``Used.read`` of an earlier result to get only newer references.
    Raises CorruptTable for a file that cannot be read, and for a hint file of a branch without snapshots; PlanOutdated
    when snapshots were deleted during each of ``SCANS`` scans.
    """
    used = Used(read=set(read))
    for _ in range(SCANS):
        roots: list[Root] = []
        try:
            roots.extend(all_roots(context))
            _read_into(used, context, roots, among, executor)
        except SnapshotNotFound:
            continue
        except CorruptTable as error:
            if not error.facts.get("missing") or _all_there(context, roots):
                raise
            continue
        _refuse_lost_snapshots(context)
        used.roots = len(roots)
        return used
    raise PlanOutdated(
        f"table {context.name}: snapshots were deleted during each of {SCANS} scans of the files in use; retry when no "
        "expiry runs",
        table=context.name,
    )


def _read_into(
    used: Used, context: TableContext, roots: list[Root], among: Collection[str], executor: WorkExecutor | None
) -> None:
    """Add the names that the roots use to ``used``.

    A manifest is marked as read as soon as it was read, so that a retry does not read it again. Lists are marked only
    after all of their manifests were read.
    """
    reached = metadata_names(context, roots, used.read)
    used.names |= reached.names
    unread = {name: must for name, must in reached.manifests.items() if name not in used.read}
    if executor is not None:
        used.names |= executor.data_names(context, unread, among)
        used.read |= unread.keys()
    else:
        wanted = FileNames(among)
        for name, must in unread.items():
            used.names |= data_names(context, {name: must}, wanted)
            used.read.add(name)
    used.read |= reached.read


def _all_there(context: TableContext, roots: list[Root]) -> bool:
    """Whether all of the roots still exist: if they do, a missing file that they reference is damage and not the effect
    of an expiry.
    """
    try:
        now = {str(root): root.snapshot for root in all_roots(context)}
    except SnapshotNotFound:
        return False
    return all(now.get(str(root)) == root.snapshot for root in roots)


def _lists(root: Root) -> Iterator[tuple[str, bool]]:
    """Yield (name, must exist) for each manifest list of a root.

    A tag does not protect the changelog of its snapshot, so a snapshot restored from a tag may have lost its changelog.
    A snapshot with a lasting changelog may have lost all files except the changelog (format 16.2).
    """
    snapshot, holder = root.snapshot, root.holder
    yield snapshot.base_manifest_list, holder is not Holder.CHANGELOG
    yield snapshot.delta_manifest_list, holder is not Holder.CHANGELOG
    if snapshot.changelog_manifest_list is not None:
        yield snapshot.changelog_manifest_list, holder is Holder.CHANGELOG


def _open_list(context: TableContext, name: str, must: bool, reached: Reached) -> None:
    try:
        manifests = context.manifests.read_list(name)
    except CorruptTable as error:
        if must or not error.facts.get("missing"):
            raise
        return
    reached.read.add(name)
    for manifest in manifests:
        reached.names.add(manifest.file_name)
        reached.manifests[manifest.file_name] = must or reached.manifests.get(manifest.file_name, False)


def _open_index(context: TableContext, name: str, must: bool, reached: Reached) -> None:
    path = context.paths.manifest(name)
    try:
        data = context.storage.read(path)
    except FileNotFoundError:
        if must:
            raise CorruptTable(f"{path} is missing", path=path, missing=True) from None
        return
    reached.read.add(name)
    reached.names.update(index_file_names(data, path))


def _refuse_lost_snapshots(context: TableContext) -> None:
    """Raise CorruptTable for a branch with a hint file and no snapshots: its files must not be taken for orphans."""
    for branch in contexts_of_branches(context):
        hints = [path for name in (LATEST, EARLIEST) if context.storage.exists(path := branch.paths.hint(name))]
        if hints and not branch.snapshots.ids():
            raise CorruptTable(
                f"table {context.name} has no snapshot in {branch.paths.snapshot_directory}, but {hints[0]} states "
                "that there were some. The files in use cannot be determined, so nothing is removed. Restore the "
                "snapshots, or repair the hints if there never were any",
                table=context.name,
                path=hints[0],
            )

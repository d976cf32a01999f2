"""References: the names of all files that a table still uses, or no answer at all (format 16.6).

A clean-up that overlooks one reference deletes live data, so nothing is skipped: every branch, every snapshot, tag and
changelog, every manifest that one of them reaches, its ADD and its DELETE entries, extra files, index files and
statistics. What does not read stops the run. Files are known by name alone, which no two writers share.

A snapshot may expire while it is read. Then the scan starts again from a new listing, a few times; names that were
found stay, as one name too many only keeps a file. It never goes on with a hole: a used set that lacks a snapshot which
vanished half read looks like a table full of orphans.

The work splits: ``metadata_names`` over chunks of roots, ``data_names`` over chunks of manifests; both only read, and
what they give is to be united. Manifests are read one after the other; of their entries only names are kept, and of
those only the ones that are asked for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from paimon_core.errors import CorruptTable, PlanOutdated, SnapshotNotFound
from paimon_core.maintain.executor import WorkExecutor
from paimon_core.maintain.roots import Holder, Root, all_roots, contexts_of_branches
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.index_names import index_file_names
from paimon_core.metadata.stores.snapshot_store import EARLIEST, LATEST

SCANS = 4
"""How often the roots are listed before a table that keeps expiring snapshots is given up."""


@dataclass
class Used:
    """What is used, and how that is known."""

    names: set[str] = field(default_factory=set)
    """File names: all lists, manifests, index and statistics files; of data files those that were asked for."""
    read: set[str] = field(default_factory=set)
    """The lists and manifests whose contents are in ``names``; they never change."""
    roots: int = 0


@dataclass
class Reached:
    """What some roots reach without opening a manifest."""

    names: set[str] = field(default_factory=set)
    read: set[str] = field(default_factory=set)
    """Lists and index manifests that were read."""
    manifests: dict[str, bool] = field(default_factory=dict)
    """By name whether it must be there."""


def used_names(context: TableContext, roots: Iterable[Root], among: Collection[str] | None = None) -> set[str]:
    """The names that these roots use, of data files only those ``among``; the union over all roots is what is used.

    Raises CorruptTable for a list or manifest that is missing or does not read.
    """
    reached = metadata_names(context, roots)
    return reached.names | data_names(context, reached.manifests, among)


def metadata_names(context: TableContext, roots: Iterable[Root], known: Collection[str] = frozenset()) -> Reached:
    """The lists, manifests, index files and statistics of the roots; lists in ``known`` are not opened again."""
    reached = Reached()
    holders = list(roots)
    for strict in (True, False):  # what one root may lack, another may need
        for root in holders:
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


def data_names(context: TableContext, manifests: Mapping[str, bool], among: Collection[str] | None = None) -> set[str]:
    """The data files and their extra files that manifests name, added or deleted; only those ``among`` when given.

    ``manifests``: by name whether it must be there. Raises CorruptTable.
    """
    names: set[str] = set()
    for name, must in manifests.items():
        try:
            entries = context.manifests.read_manifest(name)
        except CorruptTable as error:
            if must or not error.facts.get("missing"):
                raise
            continue
        found = {n for e in entries for n in (e.file.file_name, *e.file.extra_files)}
        names |= found if among is None else found.intersection(among)
    return names


def references(
    context: TableContext,
    among: Collection[str],
    read: Collection[str] = frozenset(),
    executor: WorkExecutor | None = None,
) -> Used:
    """What the whole table uses now, of data files the names ``among``.

    Lists and manifests in ``read`` are passed over: for who has their contents, and asks what came since. Raises
    CorruptTable for what does not read and for a hint beside no snapshot, PlanOutdated when snapshots vanish faster
    than they are read.
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
        f"table {context.name}: snapshots went away in each of {SCANS} scans of what it uses; try again when no expiry "
        "runs",
        table=context.name,
    )


def _read_into(
    used: Used, context: TableContext, roots: list[Root], among: Collection[str], executor: WorkExecutor | None
) -> None:
    """Manifests count as read one by one, so that a scan which starts again goes on; lists only with all they name."""
    reached = metadata_names(context, roots, used.read)
    used.names |= reached.names
    unread = {name: must for name, must in reached.manifests.items() if name not in used.read}
    if executor is not None:
        used.names |= executor.data_names(context, unread, among)
        used.read |= unread.keys()
    else:
        for name, must in unread.items():
            used.names |= data_names(context, {name: must}, among)
            used.read.add(name)
    used.read |= reached.read


def _all_there(context: TableContext, roots: list[Root]) -> bool:
    """Whether none of the roots went away: then what they lack is missing indeed."""
    try:
        now = {str(root): root.snapshot for root in all_roots(context)}
    except SnapshotNotFound:
        return False
    return all(now.get(str(root)) == root.snapshot for root in roots)


def _lists(root: Root) -> Iterator[tuple[str, bool]]:
    """The manifest lists of a root, each with whether it must be there.

    A tag keeps no changelog, so that a snapshot that came back from one has none; a changelog that outlived its
    snapshot may have lost all else (format 16.2).
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
    """Raises CorruptTable for a branch that had snapshots and has none now: its files are no orphans."""
    for branch in contexts_of_branches(context):
        hints = [path for name in (LATEST, EARLIEST) if context.storage.exists(path := branch.paths.hint(name))]
        if hints and not branch.snapshots.ids():
            raise CorruptTable(
                f"table {context.name} has no snapshot in {branch.paths.snapshot_directory}, but {hints[0]} tells that "
                "there were some: no file is taken for an orphan. Restore the snapshots, or repair the hints if there "
                "never were any",
                table=context.name,
                path=hints[0],
            )

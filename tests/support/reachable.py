"""The files that a table with all branches and lasting changelogs must contain, computed file by file."""

from __future__ import annotations

from paimon_core.metadata.context import TableContext
from paimon_core.metadata.manifests.entries import FileKind
from paimon_core.metadata.manifests.index_names import index_file_names
from paimon_core.metadata.snapshot import CommitKind, Snapshot
from tests.support.fake_tables import files_on_storage

_OWN = ("snapshot", "changelog", "tag", "schema", "consumer")


def reachable(context: TableContext) -> set[str]:
    """Return the paths below the root of all files that any branch uses; raises when a file cannot be read."""
    used: set[str] = set()
    for branch in ("main", *context.branches.names()):
        one = context.on_branch(branch)
        home = one.paths.home.removeprefix(context.paths.root).lstrip("/")
        for path in files_on_storage(context):
            folder, _, name = path.rpartition("/")
            if folder in {f"{home}/{own}".lstrip("/") for own in _OWN} and name:
                used.add(path)
        ids = one.snapshots.ids()
        for snapshot in map(one.snapshots.read, ids):
            used |= _state(one, snapshot) | _changes(one, snapshot)
        for tag in one.tags.list():
            used |= _state(one, tag.snapshot)
        for changelog_id in one.changelogs.ids():
            if changelog_id not in ids:
                used |= _lasting(one, one.changelogs.read(changelog_id))
    return used


def assert_whole_and_clean(context: TableContext, *, clean: bool = True) -> None:
    """Check that every used file exists; ``clean``: and that no other file exists."""
    there, used = files_on_storage(context), reachable(context)
    assert used <= there, f"missing: {sorted(used - there)}"
    assert not clean or there == used, f"left over: {sorted(there - used)}"


def _state(context: TableContext, snapshot: Snapshot) -> set[str]:
    used = {f"manifest/{snapshot.base_manifest_list}", f"manifest/{snapshot.delta_manifest_list}"}
    used |= {f"manifest/{m.file_name}" for m in context.manifests.manifests_of(snapshot)}
    for entry in context.manifests.entries_of(snapshot):
        used |= _data(context, entry)
    if snapshot.statistics:
        used.add(f"statistics/{snapshot.statistics}")
    if snapshot.index_manifest:
        path = context.paths.manifest(snapshot.index_manifest)
        used |= {f"index/{name}" for name in index_file_names(context.storage.read(path), path)}
        used.add(f"manifest/{snapshot.index_manifest}")
    return used


def _changes(context: TableContext, snapshot: Snapshot) -> set[str]:
    """Return the changelog files of a snapshot; they may be missing in a branch created from a tag."""
    name = snapshot.changelog_manifest_list
    if name is None or not context.storage.exists(context.paths.manifest(name)):
        return set()
    return _listed(context, name)


def _listed(context: TableContext, name: str) -> set[str]:
    used = {f"manifest/{name}"}
    for manifest in context.manifests.read_list(name):
        used.add(f"manifest/{manifest.file_name}")
        for entry in context.manifests.read_manifest(manifest.file_name):
            if entry.kind is FileKind.ADD:
                used |= _data(context, entry)
    return used


def _lasting(context: TableContext, changelog: Snapshot) -> set[str]:
    """Return the files of a lasting changelog: changelog files, or without a producer its lists and appended files."""
    if changelog.changelog_manifest_list is not None:
        return _listed(context, changelog.changelog_manifest_list)
    if context.options["changelog-producer"] != "none":
        return set()
    used = {f"manifest/{changelog.base_manifest_list}", f"manifest/{changelog.delta_manifest_list}"}
    used |= {f"manifest/{m.file_name}" for m in context.manifests.manifests_of(changelog)}
    if changelog.commit_kind is CommitKind.APPEND:
        used |= _listed(context, changelog.delta_manifest_list)
    return used


def _data(context: TableContext, entry) -> set[str]:
    place = "/".join(filter(None, (context.partition_path(entry.partition), f"bucket-{entry.bucket}")))
    return {f"{place}/{name}" for name in (entry.file.file_name, *entry.file.extra_files)}

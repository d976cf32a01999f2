"""Reference checks: the tags, lasting changelogs and consumers of a branch (I6, I21)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import fields

from paimon_core.codec.json_text import parse_json
from paimon_core.errors import CorruptTable
from paimon_core.fsck.check_context import CheckRun
from paimon_core.fsck.checked_entries import CheckedEntries
from paimon_core.fsck.finding import Level
from paimon_core.fsck.finding_collector import Location
from paimon_core.fsck.history.snapshot_chain import entries_below
from paimon_core.fsck.live_files import CheckedFiles
from paimon_core.fsck.schemas import check_schema_of
from paimon_core.metadata.snapshot import CommitKind, Snapshot
from paimon_core.metadata.stores.tag_store import parse_tag

_TAG, _CONSUMER = "tag-", "consumer-"
_CORE = tuple(f.name for f in fields(Snapshot))

CheckFiles = Callable[[CheckedFiles, Snapshot, Location], None]
"""A function that checks the files of a tag's snapshot."""


def check_tags(run: CheckRun, check_files: CheckFiles) -> None:
    """Check that each tag decodes, equals its snapshot if that exists (I21), and references only files that exist."""
    context, collector = run.context, run.collector
    for name, path, data in _files(run, context.paths.tag_directory, _TAG):
        location = Location(context.branch, None, path, f"tag {name}")
        collector.check("I21")
        with collector.guarding("I21", location, path):
            snapshot = parse_tag(name, data, path).snapshot
            if context.snapshots.exists(snapshot.id):
                _compare(run, snapshot, context.snapshots.read(snapshot.id), location)
            check_schema_of(run, snapshot, location)
            _check_state(run, snapshot, location, check_files)


def _compare(run: CheckRun, tagged: Snapshot, found: Snapshot, location: Location) -> None:
    for name in _CORE:
        in_tag, in_snapshot = getattr(tagged, name), getattr(found, name)
        if in_tag != in_snapshot:
            run.collector.find(
                "I21",
                location,
                f"{location.holder} has {name} {in_tag!r:.60}, its snapshot {tagged.id} has {in_snapshot!r:.60}",
            )
            return


def _check_state(run: CheckRun, snapshot: Snapshot, location: Location, check_files: CheckFiles) -> None:
    lists = [
        run.manifests_of(snapshot.base_manifest_list, snapshot.base_manifest_list_size, location),
        run.manifests_of(snapshot.delta_manifest_list, snapshot.delta_manifest_list_size, location),
    ]
    files = CheckedFiles()
    if None in lists or not files.load(run, [m for found in lists for m in found or ()], location):
        return
    run.collector.check("I18")
    if files.rows != snapshot.total_record_count:
        run.collector.find(
            "I18",
            location,
            f"{location.holder} records totalRecordCount {snapshot.total_record_count}, its files contain {files.rows}",
        )
    check_files(files, snapshot, location)


def check_changelogs(run: CheckRun, check_entries: Callable[[list[CheckedEntries], Location], None]) -> None:
    """Check that each lasting changelog decodes and that its files exist; ``check_entries`` checks the files."""
    context, collector = run.context, run.collector
    for snapshot_id in context.changelogs.ids():
        path = context.paths.changelog(snapshot_id)
        run.reached.add(path)
        location = Location(context.branch, snapshot_id, path, f"changelog {snapshot_id}")
        with collector.guarding("I6", location, path):
            kept = context.changelogs.read(snapshot_id)
            for entries in _changes_of(run, kept, location):
                check_entries(entries, location)


def _changes_of(run: CheckRun, kept: Snapshot, location: Location) -> Iterator[list[CheckedEntries]]:
    """Yield the entries of the files with the changes of a lasting changelog: changelog files, or appended files.

    All files that the changelog references are marked as reached.
    """
    paths, delta = run.context.paths, kept.delta_manifest_list
    for name in (kept.base_manifest_list, delta, kept.index_manifest):
        if name is not None and run.plain(name, location):
            run.reached.add(paths.manifest(name))
            with contextlib.suppress(CorruptTable):  # files without changes may be deleted (format 16.2)
                found = () if name == kept.index_manifest else run.context.manifests.read_list(name)
                run.reached |= {paths.manifest(m.file_name) for m in found}
    if kept.changelog_manifest_list is not None:
        yield entries_below(run, kept.changelog_manifest_list, kept.changelog_manifest_list_size, location) or []
    elif kept.commit_kind is CommitKind.APPEND and run.context.storage.exists(paths.manifest(kept.delta_manifest_list)):
        yield entries_below(run, kept.delta_manifest_list, kept.delta_manifest_list_size, location) or []


def check_consumers(run: CheckRun, earliest: int | None) -> None:
    """Check that each consumer states its next snapshot, and that this snapshot has not expired."""
    context, collector = run.context, run.collector
    for name, path, data in _files(run, context.paths.consumer_directory, _CONSUMER):
        location = Location(context.branch, None, path, f"consumer {name}")
        collector.check("I6")
        with collector.guarding("I6", location, path):
            following = _next_snapshot(data, path)
            kept = [*context.changelogs.ids()[:1], *([] if earliest is None else [earliest])]
            if kept and following < min(kept):
                collector.find(
                    "I6",
                    location,
                    f"{location.holder} has nextSnapshot {following}, which has expired: {min(kept)} is the first",
                    level=Level.WARNING,
                    path=path,
                )


def _next_snapshot(data: bytes, path: str) -> int:
    try:
        found = parse_json(data)["nextSnapshot"]
    except (ValueError, KeyError, TypeError) as error:
        raise CorruptTable(f"{path} is not a consumer: {error!r:.80}", path=path) from error
    if type(found) is not int or found < 1:
        raise CorruptTable(f"{path} is not a consumer: nextSnapshot is {found!r:.80}", path=path)
    return found


def _files(run: CheckRun, directory: str, prefix: str) -> Iterator[tuple[str, str, bytes]]:
    """Yield name, path and bytes of each file with the prefix; files deleted after the listing are skipped."""
    storage = run.context.storage
    for entry in storage.list(directory):
        if entry.is_directory or not entry.name.startswith(prefix):
            continue
        run.reached.add(entry.path)
        try:
            yield entry.name.removeprefix(prefix), entry.path, storage.read(entry.path)
        except FileNotFoundError:
            continue

"""What holds snapshots beside the chain of a branch: tags, kept changelogs, consumers (I6, I21)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import fields

from paimon_core.codec.json_text import parse_json
from paimon_core.errors import CorruptTable
from paimon_core.fsck.check_context import Survey
from paimon_core.fsck.finding import Level
from paimon_core.fsck.finding_collector import Spot
from paimon_core.fsck.live_files import LiveFiles
from paimon_core.fsck.schemas import check_schema_of
from paimon_core.fsck.snapshot_chain import entries_below
from paimon_core.metadata.manifest import ManifestEntry
from paimon_core.metadata.snapshot import CommitKind, Snapshot
from paimon_core.metadata.stores.tag_store import parse_tag

_TAG, _CONSUMER = "tag-", "consumer-"
_CORE = tuple(f.name for f in fields(Snapshot))

Held = Callable[[LiveFiles, Snapshot, Spot], None]
"""What is done with the files of a tag."""


def check_tags(survey: Survey, held: Held) -> None:
    """Each tag decodes, equals its snapshot as long as that is there (I21), and reaches whole files."""
    context, notes = survey.context, survey.notes
    for name, path, data in _files(survey, context.paths.tag_directory, _TAG):
        spot = Spot(context.branch, None, path, f"tag {name}")
        notes.check("I21")
        with notes.guarding("I21", spot, path):
            snapshot = parse_tag(name, data, path).snapshot
            if context.snapshots.exists(snapshot.id):
                _compare(survey, snapshot, context.snapshots.read(snapshot.id), spot)
            check_schema_of(survey, snapshot, spot)
            _check_state(survey, snapshot, spot, held)


def _compare(survey: Survey, tagged: Snapshot, found: Snapshot, spot: Spot) -> None:
    for name in _CORE:
        ours, theirs = getattr(tagged, name), getattr(found, name)
        if ours != theirs:
            survey.notes.find(
                "I21", spot, f"{spot.holder} has {name} {ours!r:.60}, its snapshot {tagged.id} has {theirs!r:.60}"
            )
            return


def _check_state(survey: Survey, snapshot: Snapshot, spot: Spot, held: Held) -> None:
    lists = [
        survey.manifests_of(snapshot.base_manifest_list, snapshot.base_manifest_list_size, spot),
        survey.manifests_of(snapshot.delta_manifest_list, snapshot.delta_manifest_list_size, spot),
    ]
    files = LiveFiles()
    if None in lists or not files.load(survey, [m for found in lists for m in found or ()], spot):
        return
    survey.notes.check("I18")
    if files.rows != snapshot.total_record_count:
        survey.notes.find(
            "I18",
            spot,
            f"{spot.holder} records totalRecordCount {snapshot.total_record_count}, its files hold {files.rows}",
        )
    held(files, snapshot, spot)


def check_changelogs(survey: Survey, told: Callable[[list[ManifestEntry], Spot], None]) -> None:
    """Each changelog that outlived its snapshot decodes and reaches whole files."""
    context, notes = survey.context, survey.notes
    for snapshot_id in context.changelogs.ids():
        path = context.paths.changelog(snapshot_id)
        survey.reached.add(path)
        spot = Spot(context.branch, snapshot_id, path, f"changelog {snapshot_id}")
        with notes.guarding("I6", spot, path):
            kept = context.changelogs.read(snapshot_id)
            for entries in _told(survey, kept, spot):
                told(entries, spot)


def _told(survey: Survey, kept: Snapshot, spot: Spot) -> Iterator[list[ManifestEntry]]:
    """The files that tell the changes: of the changelog, or the appended ones; what else is left of it is reached."""
    paths, delta = survey.context.paths, kept.delta_manifest_list
    for name in (kept.base_manifest_list, delta, kept.index_manifest):
        if name is not None and survey.plain(name, spot):
            survey.reached.add(paths.manifest(name))
            with contextlib.suppress(CorruptTable):  # a changelog may have lost all but its changes (format 16.2)
                found = () if name == kept.index_manifest else survey.context.manifests.read_list(name)
                survey.reached |= {paths.manifest(m.file_name) for m in found}
    if kept.changelog_manifest_list is not None:
        yield entries_below(survey, kept.changelog_manifest_list, kept.changelog_manifest_list_size, spot) or []
    elif kept.commit_kind is CommitKind.APPEND and survey.context.storage.exists(
        paths.manifest(kept.delta_manifest_list)
    ):
        yield entries_below(survey, kept.delta_manifest_list, kept.delta_manifest_list_size, spot) or []


def check_consumers(survey: Survey, earliest: int | None) -> None:
    """Each consumer says which snapshot is next, and that one is still there or still to come."""
    context, notes = survey.context, survey.notes
    for name, path, data in _files(survey, context.paths.consumer_directory, _CONSUMER):
        spot = Spot(context.branch, None, path, f"consumer {name}")
        notes.check("I6")
        with notes.guarding("I6", spot, path):
            following = _next_snapshot(data, path)
            kept = [*context.changelogs.ids()[:1], *([] if earliest is None else [earliest])]
            if kept and following < min(kept):
                notes.find(
                    "I6",
                    spot,
                    f"{spot.holder} wants snapshot {following} next, which has expired: {min(kept)} is the first",
                    level=Level.WARNING,
                    path=path,
                )


def _next_snapshot(data: bytes, path: str) -> int:
    try:
        found = parse_json(data)["nextSnapshot"]
    except (ValueError, KeyError, TypeError) as error:
        raise CorruptTable(f"{path} is no consumer: {error!r:.80}", path=path) from error
    if type(found) is not int or found < 1:
        raise CorruptTable(f"{path} is no consumer: nextSnapshot is {found!r:.80}", path=path)
    return found


def _files(survey: Survey, directory: str, prefix: str) -> Iterator[tuple[str, str, bytes]]:
    """The names, paths and bytes of the files of a kind; those deleted meanwhile are passed over."""
    storage = survey.context.storage
    for entry in storage.list(directory):
        if entry.is_directory or not entry.name.startswith(prefix):
            continue
        survey.reached.add(entry.path)
        try:
            yield entry.name.removeprefix(prefix), entry.path, storage.read(entry.path)
        except FileNotFoundError:
            continue

"""Damage: the metadata files of one branch that cannot be read, the loss, and the damage that a repair cannot correct.

A snapshot can be read when its file, its schema, and all its manifest lists, manifests and index manifests can be read.
Only ``CorruptTable`` means damage: the search raises other errors, for example when the store fails or a feature is
unknown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from paimon_core.errors import CorruptTable, PaimonError, SnapshotNotFound
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.manifests.entries import ManifestEntry
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.statistics import Statistics
from paimon_core.metadata.stores.tag_store import Tag
from paimon_core.storage.storage import FileInfo


@dataclass(frozen=True)
class Broken:
    """A metadata file that a repair moves to quarantine."""

    path: str
    size: int
    what: str
    """The kind of the file, why it cannot be read, and the loss: ``snapshot 3 (…); lost: …``."""


@dataclass
class Damage:
    """The result of a search; the lists are in the order in which a repair moves the files."""

    newest: list[Broken] = field(default_factory=list)
    """The snapshots above ``target``, newest first."""
    older: list[Broken] = field(default_factory=list)
    """Snapshots below ``target`` that a repair must also move, newest first.

    The first of these snapshots is the newest snapshot that is unreadable or whose next id is missing; all older
    snapshots follow.
    """
    others: list[Broken] = field(default_factory=list)
    """Unreadable tags, changelogs, consumers and schemas."""
    target: Snapshot | None = None
    """The newest snapshot that can be read."""
    entries: Sequence[ManifestEntry] = ()
    """The live files of ``target``."""
    tag: Tag | None = None
    """The newest tag that can be read, if it is newer than ``target``: the repair makes the snapshot of this tag the
    latest.
    """
    advice: list[str] = field(default_factory=list)
    """Sentences for the user: the damage that a repair does not correct, and what to do after the repair."""

    @property
    def broken(self) -> list[Broken]:
        """All files that the repair moves."""
        return [*self.newest, *self.older, *self.others]


def find_damage(context: TableContext) -> Damage:
    """Return the damage of the branch of ``context``; changes nothing.

    Raises CorruptTable when no snapshot and no tag can be read, StorageError when the store fails, UnsupportedFeature
    for a newer format.
    """
    context = context.uncached()
    damage = Damage()
    tags = _tags(context, damage)
    _snapshots(context, damage)
    _later_tag(context, damage, tags)
    if damage.target is None and damage.tag is None and damage.newest:
        raise CorruptTable(
            f"table {context.name}: no snapshot and no tag of branch {context.branch} can be read, so nothing can be "
            f"repaired ({damage.newest[0].what}). Restore the files from a backup, or drop the table and write its "
            "rows again",
            table=context.name,
            path=damage.newest[0].path,
        )
    _changelogs(context, damage)
    _consumers(context, damage)
    _schemas(context, damage, tags)
    _branches(context, damage)
    return damage


def live_entries(context: TableContext, snapshot: Snapshot) -> list[ManifestEntry]:
    """Return the live files of a snapshot, after reading all metadata that a read of the snapshot needs.

    Raises CorruptTable when one of the files cannot be read, or an index file is missing or has another size: without
    a deletion vector, deleted rows would be visible.
    """
    context.schemas.read(snapshot.schema_id)
    entries = context.manifests.entries_of(snapshot)
    indexes = [e.file for e in context.manifests.read_indexes(snapshot.index_manifest) if e.file.external_path is None]
    sizes = {f.name: f.size for f in context.storage.list(context.paths.index_directory)} if indexes else {}
    for index in indexes:
        if sizes.get(index.file_name) != index.file_size:
            state = "is missing" if index.file_name not in sizes else f"has {sizes[index.file_name]} bytes"
            path = context.paths.index(index.file_name)
            raise CorruptTable(f"{path} {state}, but {index.file_size} bytes are recorded", path=path)
    for schema_id in {e.file.schema_id for e in entries}:
        context.schemas.read(schema_id)
    return entries


def _snapshots(context: TableContext, damage: Damage) -> None:
    listed = _numbered(context, context.paths.snapshot_directory, "snapshot-")
    for number in [i for i, file in listed.items() if file.is_directory]:
        path = listed.pop(number).path
        damage.advice.append(f"{path} is a directory, not a snapshot: move it away by hand")
    ids = sorted(listed, reverse=True)
    named = context.snapshots.latest_hint()
    if named is not None and named > max(ids, default=0):
        damage.advice.append(f"the hint LATEST names snapshot {named}, which is missing: its commit is lost")
    for place, snapshot_id in enumerate(ids):
        snapshot, entries, problem = _readable(context, snapshot_id)
        if damage.target is None:
            if problem is None:
                damage.target, damage.entries = snapshot, entries
                _advise_statistics(context, damage)
            elif problem:
                lost = _lost_commit(snapshot) if snapshot is not None else "a commit of unknown rows"
                damage.newest.append(_broken(listed[snapshot_id], f"snapshot {snapshot_id} ({problem}); lost: {lost}"))
            continue
        gap = ids[place - 1] != snapshot_id + 1
        if gap or problem:
            why = problem or f"snapshot {snapshot_id + 1} is missing"
            for old in ids[place:]:
                reason = f"({why})" if old == snapshot_id else f"(older than {snapshot_id}, the ids must have no gap)"
                damage.older.append(_broken(listed[old], f"snapshot {old} {reason}; lost: time travel to it"))
            return


def _later_tag(context: TableContext, damage: Damage, tags: Sequence[Tag]) -> None:
    """Set ``damage.tag`` to the newest readable tag, if it is newer than the newest readable snapshot.

    The older snapshots are kept only if no snapshot id is missing between them and the tag's snapshot.
    """
    newest = damage.target.id if damage.target is not None else 0
    later = [tag for tag in tags if damage.newest and tag.snapshot.id > newest]
    if not later:
        return
    damage.tag = max(later, key=lambda tag: tag.snapshot.id)
    damage.entries = context.manifests.entries_of(damage.tag.snapshot)
    if damage.target is not None and damage.tag.snapshot.id > newest + 1:
        listed = _numbered(context, context.paths.snapshot_directory, "snapshot-")
        why = f"(older than tag {damage.tag.name}, the ids must have no gap); lost: time travel to it"
        damage.older = [_broken(listed[i], f"snapshot {i} {why}") for i in sorted(listed, reverse=True) if i <= newest]


def _readable(context: TableContext, snapshot_id: int) -> tuple[Snapshot | None, list[ManifestEntry], str | None]:
    """Return the snapshot, its live files, and the reason why it cannot be read.

    The reason is None for a readable snapshot, and "" for a snapshot that was deleted during the search.
    """
    snapshot = None
    try:
        snapshot = context.snapshots.read(snapshot_id)
        return snapshot, live_entries(context, snapshot), None
    except SnapshotNotFound:
        return None, [], ""
    except CorruptTable as error:
        if snapshot is not None and not context.snapshots.is_live(snapshot):
            return None, [], ""  # expired during the read
        return snapshot, [], _problem(context, error)


def _problem(context: TableContext, error: CorruptTable) -> str:
    """Return a description of the damage, with paths relative to the table."""
    return str(error.facts.get("problem", error.message)).replace(f"{context.paths.root}/", "")


def _lost_commit(snapshot: Snapshot) -> str:
    return (
        f"{snapshot.commit_kind} of user {snapshot.commit_user}"
        + ("" if snapshot.operation is None else f" ({snapshot.operation})")
        + f" with a change of {snapshot.delta_record_count} rows"
    )


def _tags(context: TableContext, damage: Damage) -> list[Tag]:
    readable = []
    for file in context.storage.list(context.paths.tag_directory):
        name = file.name.removeprefix("tag-")
        if name == file.name or file.is_directory:
            continue

        def read(name: str = name) -> None:
            tag = context.tags.read(name)
            live_entries(context, tag.snapshot)
            readable.append(tag)

        _guard(context, damage, file, read, f"tag {name}", "its name for a version")
    return readable


def _changelogs(context: TableContext, damage: Damage) -> None:
    listed = _numbered(context, context.paths.changelog_directory, "changelog-")
    for number, file in sorted(listed.items()):

        def read(number: int = number) -> None:
            context.changelogs.read(number)

        _guard(context, damage, file, read, f"changelog {number}", "the changes of that snapshot")


def _consumers(context: TableContext, damage: Damage) -> None:
    for file in context.consumers.files():
        name = file.name.removeprefix("consumer-")

        def read(name: str = name) -> None:
            context.consumers.read(name)

        _guard(context, damage, file, read, f"consumer {name}", "its position: start that reader again at a snapshot")


def _schemas(context: TableContext, damage: Damage, tags: Sequence[Tag]) -> None:
    """Find the schemas that cannot be read.

    A schema that is newer than all readable schemas and that no readable snapshot or tag needs is moved. For any other
    unreadable schema, advice is given.
    """
    listed = _numbered(context, context.paths.schema_directory, "schema-")
    problems = {}
    for schema_id in listed:
        try:
            context.schemas.read(schema_id)
        except CorruptTable as error:
            problems[schema_id] = _problem(context, error)
    readable = max(listed.keys() - problems.keys(), default=-1)
    kept = [damage.target, *(tag.snapshot for tag in tags)]
    needed = max((s.schema_id for s in kept if s is not None), default=0)
    for schema_id, problem in sorted(problems.items(), reverse=True):
        if schema_id > max(readable, needed):
            text = f"schema {schema_id} ({problem}); lost: an alteration of the table"
            damage.others.append(_broken(listed[schema_id], text))
        else:
            damage.advice.append(
                f"schema {schema_id} cannot be read ({problem}): what was written with it is lost. Restore "
                "it from a backup"
            )


def _branches(context: TableContext, damage: Damage) -> None:
    for name in context.branches.names():
        try:
            context.beside(context.branch).on_branch(name)
        except (CorruptTable, LookupError) as error:
            damage.advice.append(f"branch {name} cannot be opened ({error}): delete it with branches delete")


def _advise_statistics(context: TableContext, damage: Damage) -> None:
    target = damage.target
    if target is None or target.statistics is None:
        return
    try:
        Statistics.read(context.storage, context.paths.statistics(target.statistics))
    except CorruptTable as error:
        damage.advice.append(f"the statistics cannot be read ({error}): compute them again with Table.analyze()")


def _guard(
    context: TableContext, damage: Damage, file: FileInfo, read: Callable[[], object], what: str, loss: str
) -> None:
    try:
        read()
    except CorruptTable as error:
        damage.others.append(_broken(file, f"{what} ({_problem(context, error)}); lost: {loss}"))
    except PaimonError as error:
        if not isinstance(error, LookupError):  # deleted after the listing
            raise


def _broken(file: FileInfo, what: str) -> Broken:
    return Broken(file.path, file.size or 0, what)


def _numbered(context: TableContext, directory: str, prefix: str) -> dict[int, FileInfo]:
    """Return the files and directories with names such as ``<prefix>12``, by number."""
    out = {}
    for file in context.storage.list(directory):
        number = file.name.removeprefix(prefix)
        if number != file.name and re.fullmatch(r"0|[1-9][0-9]{0,18}", number):
            out[int(number)] = file
    return out

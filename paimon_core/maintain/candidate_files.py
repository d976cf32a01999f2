"""Candidate files: finds the files of a table that could be orphans, by directory, name and age.

Only files with names that Paimon's writers create are candidates: names with a random UUID and a number, in the
directory for this kind of file, and temporary files left by a publish. Any other file is reported as protected and
never deleted. Symbolic links to directories are not followed, and symbolic links to files are kept. Several workers can
each process a part of the directories.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from paimon_core.maintain.planning.plan import Protected
from paimon_core.maintain.roots import contexts_of_branches
from paimon_core.metadata.context import TableContext
from paimon_core.storage.storage import FileInfo

NO_NAME_OF_PAIMON = "not a name of Paimon's"
_UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_INDEX = rf"index-{_UUID}-\d+|[\w-]+-global-index-{_UUID}\.index"
_TEMPORARY = re.compile(rf"\.[^/\x00-\x1f]+\.{_UUID}\.tmp")
_PUBLISHED = re.compile(r"(snapshot|changelog)-[1-9]\d*|schema-(0|[1-9]\d*)|(tag|consumer)-.+|LATEST|EARLIEST")


class Kind(StrEnum):
    """The kind of files that a directory contains."""

    MANIFEST = "manifest"
    INDEX = "index"
    STATISTICS = "statistics"
    DATA = "data"
    PUBLISHED = "published"
    """Snapshots, schemas, tags and similar files. Only temporary files that a publish left are candidates."""
    ABOVE = "above"
    """The root or a partition directory: Paimon stores no files directly in these directories."""


@dataclass(frozen=True, slots=True)
class Directory:
    """A directory of the table; plain values only, so that it can be sent to workers."""

    path: str
    kind: Kind


@dataclass
class Found:
    """The candidate files, and the entries that must not be removed, each with the reason."""

    files: list[FileInfo] = field(default_factory=list)
    protected: list[Protected] = field(default_factory=list)


def directories(context: TableContext) -> Iterator[Directory]:
    """Yield every directory that may contain orphans, of all branches, partitions and buckets.

    Raises CorruptTable for a branch without a schema.
    """
    paths = context.paths
    yield Directory(paths.manifest_directory, Kind.MANIFEST)
    yield Directory(paths.index_directory, Kind.INDEX)
    yield Directory(paths.statistics_directory, Kind.STATISTICS)
    for branch in contexts_of_branches(context):
        own = branch.paths
        yield Directory(own.snapshot_directory, Kind.PUBLISHED)
        yield Directory(own.changelog_directory, Kind.PUBLISHED)
        yield Directory(own.schema_directory, Kind.PUBLISHED)
        yield Directory(own.tag_directory, Kind.PUBLISHED)
        yield Directory(own.consumer_directory, Kind.PUBLISHED)
    if paths.data_root != paths.root:
        yield Directory(paths.root, Kind.ABOVE)
    yield from _below(context, paths.data_root, len(context.schema.partition_keys))


def _below(context: TableContext, directory: str, partition_keys: int) -> Iterator[Directory]:
    """Yield the directory itself, then the partition and bucket directories below it.

    ``partition_keys`` is the number of levels of partition directories between ``directory`` and the buckets.
    """
    yield Directory(directory, Kind.ABOVE)
    for entry in context.storage.list(directory):
        if not entry.is_directory or entry.is_link or "\\" in entry.name or not entry.name.isprintable():
            continue
        if partition_keys == 0 and entry.name.startswith("bucket-"):
            yield Directory(entry.path, Kind.DATA)
        elif partition_keys and "=" in entry.name:
            yield from _below(context, entry.path, partition_keys - 1)


def candidates(context: TableContext, places: Iterable[Directory], before_millis: int) -> Found:
    """Return the files in these directories that have a Paimon name and were last modified before ``before_millis``.

    ``before_millis`` is in epoch milliseconds.
    """
    names = _names(context)
    found = Found()
    for place in places:
        for entry in context.storage.list(place.path):
            if reason := _protection(entry, place.kind, names):
                found.protected.append(Protected(f"file {entry.path.removeprefix(context.paths.root + '/')}", reason))
            elif _is_candidate(entry, place.kind) and entry.modified_millis < before_millis:
                found.files.append(entry)
    return found


def _is_candidate(entry: FileInfo, kind: Kind) -> bool:
    return not entry.is_directory and not (kind is Kind.PUBLISHED and _PUBLISHED.fullmatch(entry.name))


def _protection(entry: FileInfo, kind: Kind, names: dict[Kind, re.Pattern[str]]) -> str:
    """Return why an entry of a directory must be kept even when nothing references the entry; "" when the entry may be
    removed.
    """
    if entry.is_link:
        return "a symbolic link"
    if not _is_candidate(entry, kind):
        return ""
    if not _TEMPORARY.fullmatch(entry.name) and not names[kind].fullmatch(entry.name):
        return NO_NAME_OF_PAIMON
    return "" if entry.modified_millis > 0 else "its age is not known"


def _names(context: TableContext) -> dict[Kind, re.Pattern[str]]:
    """Return by kind of directory a pattern of the file names that Java, pypaimon and paimon_core use (format 1.1)."""
    prefixes = {"data-", "changelog-", context.options["changelog-file.prefix"]}
    prefixes |= {value for key, value in context.schema.options.items() if key == "data-file.prefix"}
    either = "|".join(re.escape(p) for p in sorted(prefixes))
    nothing = re.compile(r"(?!)")
    return {
        Kind.MANIFEST: re.compile(rf"(?:index-)?manifest-(?:list-)?{_UUID}(?:-\w+)?"),
        Kind.INDEX: re.compile(_INDEX),
        Kind.STATISTICS: re.compile(rf"stat-{_UUID}-\d+"),
        Kind.DATA: re.compile(
            rf"(?:{either})(?:-u-.+-)?(?:{_UUID}-\d+-)?{_UUID}-\d+(?:\.\w+)+(?:-\w+\.index)?|{_INDEX}"
        ),
        Kind.PUBLISHED: nothing,
        Kind.ABOVE: nothing,
    }

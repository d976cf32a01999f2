"""CheckRun: the state of one check of one table, which all modules of the check share.

Each file is read once, and findings about a file are reported once. The check holds in memory the files of one
snapshot as columns, two numbers for every referenced file, and some directory listings.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from paimon_core.errors import CorruptTable
from paimon_core.fsck.checked_entries import CheckedEntries
from paimon_core.fsck.finding_collector import FindingCollector, Location
from paimon_core.fsck.known_names import KnownNames
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.manifests.entries import ManifestFile
from paimon_core.progress_meter import Meter, meter
from paimon_core.storage.paths import component

KEPT_LISTINGS = 512
"""Maximum number of directory listings in memory."""
CACHED_ENTRIES = 10_000
"""Manifests with more entries are not cached, but decoded again when a tag or a later snapshot needs them."""


@dataclass(frozen=True)
class Listing:
    """The files of a directory: names, encoded as by ``os.fsencode``, and sizes in bytes."""

    names: Sequence[bytes]
    sizes: Sequence[int]

    @cached_property
    def by_name(self) -> dict[str, int]:
        """The size of each file by name."""
        return dict(zip((n.decode(errors="surrogateescape") for n in self.names), self.sizes, strict=True))


@dataclass
class CheckRun:
    """The results of a check so far; ``context`` is the table on the branch that is being checked."""

    context: TableContext
    collector: FindingCollector
    reached: set[str] = field(default_factory=set)
    """The paths of the referenced metadata and index files that have been checked so far."""
    files: KnownNames = field(default_factory=KnownNames)
    """Names of data files, each with a hash of values of its manifest entry."""
    extra_files: KnownNames = field(default_factory=KnownNames)
    """Names of extra files."""
    schema_ids: set[int] = field(default_factory=set)
    """The schema ids of the branch."""
    broken: set[str] = field(default_factory=set)
    """Names of data files whose rows cannot be read."""
    vectors: set[tuple[str, int]] = field(default_factory=set)
    """The index files and offsets of the deletion vectors whose positions have been checked."""
    read_files: Meter = field(default_factory=lambda: meter("check rows", "files"))
    """Counts the files whose rows a deep check reads."""
    _listings: OrderedDict[str, Listing] = field(default_factory=OrderedDict)
    _manifests: set[str] = field(default_factory=set)
    _unseen: dict[str, tuple[int, int]] = field(default_factory=dict)
    """For each listed directory: its files that are not known to be referenced (-1: it has directories); all files."""

    @property
    def deep(self) -> bool:
        """Whether rows are checked."""
        return self.collector.deep

    def plain(self, name: str, location: Location) -> bool:
        """Check that a file name in metadata has no directory part (I35); return True when it is valid."""
        self.collector.check("I35")
        try:
            component(name)
        except CorruptTable as error:
            self.collector.find("I35", location, f"{location.holder}: {error}")
            return False
        return True

    def has_file(self, path: str, location: Location, size: int | None = None) -> bool:
        """Check that a file exists and, if ``size`` is given, has this size (I6); return whether this is so."""
        self.collector.check("I6")
        found = self._size(path)
        if found is None and location.path is not None and not self.context.storage.exists(location.path):
            return False  # the snapshot that needs the file expired during the check
        if found is None:
            self.collector.find("I6", location, f"{location.holder} needs {path}, which is missing", path=path)
        elif size is not None and found != size:
            self.collector.find(
                "I6",
                location,
                f"{location.holder} needs {path}, which has {found} bytes instead of the recorded {size}",
                path=path,
            )
        return found == size if size is not None else found is not None

    def _size(self, path: str) -> int | None:
        directory, _, name = path.rpartition("/")
        if directory in self._listings:
            self._listings.move_to_end(directory)
            if name in self._listings[directory].by_name:
                return self._listings[directory].by_name[name]
            if not self.context.storage.exists(path):
                return None  # if the file exists, it was created after the listing
        self._list(directory)
        return self._listings[directory].by_name.get(name)

    def listing(self, directory: str) -> Listing:
        """Return the files of a directory, from a listing of this check or a new one."""
        if directory not in self._listings:
            self._list(directory)
        return self._listings[directory]

    def reach(self, directory: str, count: int) -> None:
        """Record that ``count`` more of the listed files of a directory are referenced data files."""
        unseen, total = self._unseen[directory]
        self._unseen[directory] = (unseen - count if unseen >= 0 else -1, total)

    def complete(self, directory: str) -> int | None:
        """Return the number of files of a directory if a listing had only referenced data files, otherwise None."""
        unseen, total = self._unseen.get(directory, (-1, 0))
        return total if unseen == 0 else None

    def _list(self, directory: str) -> None:
        found = self.context.storage.file_sizes(directory)
        if found is None:
            entries = self.context.storage.list(directory)
            files = [e for e in entries if not e.is_directory]
            names, total = [e.name.encode(errors="surrogateescape") for e in files], len(entries)
            listing = Listing(names, [e.size for e in files])
        else:
            listing = Listing(*found)
            total = len(listing.names)
        self._listings[directory] = listing
        self._unseen[directory] = (-1 if len(listing.names) < total else total, total)
        if len(self._listings) > KEPT_LISTINGS:
            self._listings.popitem(last=False)

    def manifests_of(self, name: str | None, size: int | None, location: Location) -> list[ManifestFile] | None:
        """Return the manifests of the manifest list ``name``; [] when the name is None.

        Return None when the list cannot be read or has a bad file name; the problem is then a finding.
        """
        if name is None:
            return []
        if not self.plain(name, location):
            return None
        path = self.context.paths.manifest(name)
        self.reached.add(path)
        if not self.has_file(path, location, size):
            self.collector.incomplete = True
            return None
        with self.collector.guarding("I6", location, path):
            found = self.context.manifests.read_list(name)
            # A name with a directory part is reported, and no manifest of its list is read.
            plain = [self.plain(m.file_name, location) for m in found]
            return found if all(plain) else None
        return None  # type: ignore[unreachable]  # an error that guarding() has reported

    def entries(self, manifest: ManifestFile, location: Location, *, whole: bool = False) -> CheckedEntries | None:
        """Return the entries of a manifest; None when it cannot be read.

        ``whole``: with the column statistics, as in a deep check. When a manifest is first read, problems become
        findings, and the numbers that its manifest list records are checked.
        """
        path = self.context.paths.manifest(manifest.file_name)
        first = path not in self._manifests
        self._manifests.add(path)
        self.reached.add(path)
        if first and not self.has_file(path, location, manifest.file_size):
            self.collector.incomplete = True
            return None
        try:
            few = manifest.num_added_files + manifest.num_deleted_files <= CACHED_ENTRIES
            read = self.context.manifests.read_entries(manifest.file_name, keep=few)
            found = CheckedEntries.of(read, whole=whole or self.deep)
        except Exception as error:
            if first:
                with self.collector.guarding("I6", location, path):
                    raise error
            return None
        if first:
            self._check_manifest(manifest, found, path, location)
        return found

    def _check_manifest(self, manifest: ManifestFile, found: CheckedEntries, path: str, location: Location) -> None:
        """Check the file counts and value ranges that a manifest list records for a manifest (I18, I19)."""
        added = int(np.count_nonzero(found.added))
        deleted = len(found) - added
        recorded = (manifest.num_added_files, manifest.num_deleted_files)
        self.collector.check("I18")
        if (added, deleted) != recorded:
            self.collector.find(
                "I18",
                location,
                f"{path} adds {added} files and deletes {deleted}, but {recorded[0]} and {recorded[1]} are recorded",
                path=path,
            )
        for what, low, high in (
            ("bucket", manifest.min_bucket, manifest.max_bucket),
            ("level", manifest.min_level, manifest.max_level),
        ):
            values = np.unique(found.columns.numbers[what]).tolist()
            outside = [v for v in values if low is not None and high is not None and not low <= v <= high]
            if outside:
                self.collector.find(
                    "I19",
                    location,
                    f"{path} contains {what} {outside[0]}, but its list records {low} to {high}: readers may skip it",
                    path=path,
                )

"""CheckedFiles: the files of a snapshot, updated for each next snapshot by the files that it adds and deletes.

Each snapshot is compared with the snapshot before it: manifests that both snapshots reference are skipped, and the
other manifests of the two snapshots must have the same net effect (I7). So a check of a thousand snapshots takes little
more time than a check of one snapshot.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from paimon_core.fsck.check_context import CheckRun
from paimon_core.fsck.finding_collector import Location
from paimon_core.metadata.manifests.entries import FileKind, ManifestEntry, ManifestFile

Place = tuple[bytes, int]
"""A serialized partition and a bucket."""


@dataclass
class CheckedFiles:
    """The manifest entries of the live files, by identity and by bucket, and the manifests that contain the entries."""

    manifests: list[ManifestFile] = field(default_factory=list)
    entries: dict[Any, ManifestEntry] = field(default_factory=dict)
    buckets: defaultdict[Place, dict[Any, ManifestEntry]] = field(default_factory=lambda: defaultdict(dict))
    rows: int = 0

    def apply(self, run: CheckRun, entries: Iterable[ManifestEntry], location: Location) -> None:
        """Apply entries in order; report an ADD of a live file and a DELETE of a missing file (I8)."""
        for entry in entries:
            run.collector.check("I8")
            identity, place = entry.identity, (entry.partition, entry.bucket)
            if entry.kind is FileKind.ADD:
                if identity in self.entries:
                    run.collector.find(
                        "I8", location, f"{location.holder} adds {_description(entry)}, which exists already"
                    )
                    continue
                self.entries[identity] = self.buckets[place][identity] = entry
                self.rows += entry.file.row_count
            elif (deleted := self.entries.pop(identity, None)) is None:
                run.collector.find(
                    "I8", location, f"{location.holder} deletes {_description(entry)}, which does not exist"
                )
            else:
                del self.buckets[place][identity]
                self.rows -= deleted.file.row_count

    def load(self, run: CheckRun, manifests: Iterable[ManifestFile], location: Location) -> bool:
        """Load the files of the manifests; return False when a manifest cannot be read.

        The DELETE entry of a file may come before the ADD entry, because merged manifests are not ordered by time.
        """
        self.manifests = list(manifests)
        net: Counter[Any] = Counter()
        added: dict[Any, ManifestEntry] = {}
        for manifest in self.manifests:
            found = run.entries(manifest, location)
            if found is None:
                return False
            _count(found, 1, net, added)
        for identity, count in net.items():
            if count not in (0, 1):
                name, times = identity[3], f"{count} times more often than" if count > 0 else "less often than"
                run.collector.find("I8", location, f"{location.holder}: file {name} is added {times} it is deleted")
        self.apply(run, (added[i] for i, count in net.items() if count > 0), location)
        return True

    def follow(self, run: CheckRun, base: list[ManifestFile], location: Location) -> bool:
        """Check that the next snapshot starts with the files of this object (I7).

        ``base`` are the manifests of the files with which the next snapshot starts. Return False when a manifest cannot
        be read, or when the next snapshot starts with more files or with fewer files.
        """
        current, following = {m.file_name for m in self.manifests}, {m.file_name for m in base}
        net: Counter[Any] = Counter()
        added: dict[Any, ManifestEntry] = {}
        for manifests, shared, sign in ((self.manifests, following, -1), (base, current, 1)):
            for manifest in manifests:
                if manifest.file_name in shared:
                    continue
                found = run.entries(manifest, location)
                if found is None:
                    return False
                _count(found, sign, net, added if sign > 0 else {})
        run.collector.check("I7")
        for words, names in (
            ("has", [i[3] for i, count in net.items() if count > 0]),
            ("lacks", [i[3] for i, count in net.items() if count < 0]),
            ("has other records of", [i[3] for i, e in added.items() if self.entries.get(i, e) != e]),
        ):
            if names:
                more = f" and {len(names) - 3} more" if names[3:] else ""
                run.collector.find(
                    "I7",
                    location,
                    f"{location.holder} does not start with the files of the snapshot before it: "
                    f"it {words} {', '.join(sorted(names)[:3])}{more}",
                )
        self.manifests = list(base)
        return not any(net.values())


def _count(entries: Iterable[ManifestEntry], sign: int, net: Counter[Any], added: dict[Any, ManifestEntry]) -> None:
    for entry in entries:
        if entry.kind is FileKind.ADD:
            net[entry.identity] += sign
            added[entry.identity] = entry
        else:
            net[entry.identity] -= sign


def _description(entry: ManifestEntry) -> str:
    return f"file {entry.file.file_name} of bucket {entry.bucket}, level {entry.file.level}"

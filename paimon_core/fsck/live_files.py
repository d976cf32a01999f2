"""LiveFiles: the files of a snapshot, carried from one snapshot to the next by what each adds and deletes.

A snapshot is compared with the one before by the manifests in which they differ only, so that a thousand snapshots cost
little more than one: manifests that both have cancel out, and the others must have the same effect (I7).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from paimon_core.fsck.check_context import CheckRun
from paimon_core.fsck.finding_collector import Location
from paimon_core.metadata.manifest import FileKind, ManifestEntry, ManifestFile

Place = tuple[bytes, int]
"""A serialized partition and a bucket."""


@dataclass
class LiveFiles:
    """The live entries by identity and by place, with the manifests that they come from."""

    manifests: list[ManifestFile] = field(default_factory=list)
    entries: dict[Any, ManifestEntry] = field(default_factory=dict)
    buckets: defaultdict[Place, dict[Any, ManifestEntry]] = field(default_factory=lambda: defaultdict(dict))
    rows: int = 0

    def apply(self, run: CheckRun, entries: Iterable[ManifestEntry], location: Location) -> None:
        """Add and delete in order (I8)."""
        for entry in entries:
            run.collector.check("I8")
            identity, place = entry.identity, (entry.partition, entry.bucket)
            if entry.kind is FileKind.ADD:
                if identity in self.entries:
                    run.collector.find(
                        "I8", location, f"{location.holder} adds {_named(entry)}, which is there already"
                    )
                    continue
                self.entries[identity] = self.buckets[place][identity] = entry
                self.rows += entry.file.row_count
            elif (gone := self.entries.pop(identity, None)) is None:
                run.collector.find("I8", location, f"{location.holder} deletes {_named(entry)}, which is not there")
            else:
                del self.buckets[place][identity]
                self.rows -= gone.file.row_count

    def load(self, run: CheckRun, manifests: Iterable[ManifestFile], location: Location) -> bool:
        """Begin with these manifests; False when one of them is bad.

        Deletes come before their adds too: the order of merged manifests is not that of time.
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
                name, times = identity[3], f"{count} times more than" if count > 0 else "less often than"
                run.collector.find("I8", location, f"{location.holder}: file {name} is added {times} it is deleted")
        self.apply(run, (added[i] for i, count in net.items() if count > 0), location)
        return True

    def follow(self, run: CheckRun, base: list[ManifestFile], location: Location) -> bool:
        """Check that the manifests of the next snapshot's base have the effect of ours (I7); False when one is bad."""
        ours, theirs = {m.file_name for m in self.manifests}, {m.file_name for m in base}
        net: Counter[Any] = Counter()
        added: dict[Any, ManifestEntry] = {}
        for manifests, others, sign in ((self.manifests, theirs, -1), (base, ours, 1)):
            for manifest in manifests:
                if manifest.file_name in others:
                    continue
                found = run.entries(manifest, location)
                if found is None:
                    return False
                _count(found, sign, net, added if sign > 0 else {})
        run.collector.check("I7")
        for words, names in (
            ("has", [i[3] for i, count in net.items() if count > 0]),
            ("lacks", [i[3] for i, count in net.items() if count < 0]),
            ("tells otherwise of", [i[3] for i, e in added.items() if self.entries.get(i, e) != e]),
        ):
            if names:
                more = f" and {len(names) - 3} more" if names[3:] else ""
                run.collector.find(
                    "I7",
                    location,
                    f"{location.holder} does not start from what the snapshot before it ended with: "
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


def _named(entry: ManifestEntry) -> str:
    return f"file {entry.file.file_name} of bucket {entry.bucket}, level {entry.file.level}"

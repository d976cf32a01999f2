"""CheckedFiles: the files of a snapshot, updated for each next snapshot by the files that it adds and deletes.

Each snapshot is compared with the snapshot before it: manifests that both snapshots reference are skipped, and the
other manifests of the two snapshots must have the same net effect (I7). So a check of a thousand snapshots takes little
more time than a check of one snapshot. The files are columns (``LiveParts``), compared by hashes of their identities.
These hashes are kept for each manifest of the last snapshot, so that a manifest which a merge replaced is decoded once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from paimon_core.codec.avro.columns import Mask, Numbers
from paimon_core.fsck.check_context import CheckRun
from paimon_core.fsck.checked_entries import CheckedEntries, EntryHashes
from paimon_core.fsck.finding_collector import Location
from paimon_core.fsck.known_names import in_order
from paimon_core.fsck.live_parts import LiveParts
from paimon_core.metadata.manifests.entries import ManifestFile


@dataclass
class CheckedFiles:
    """The live files of a snapshot, and the manifests that contain their entries."""

    manifests: list[ManifestFile] = field(default_factory=list)
    live: LiveParts = field(default_factory=LiveParts)
    rows: int = 0
    _hashes: dict[str, EntryHashes] = field(default_factory=dict)
    """The hashes of the entries of each manifest, by its name."""

    def extend(
        self, run: CheckRun, manifests: Sequence[ManifestFile], entries: Sequence[CheckedEntries], location: Location
    ) -> None:
        """Apply the entries of the manifests that a snapshot adds."""
        for manifest, found in zip(manifests, entries, strict=True):
            self.apply(run, found, location)
            self._hashes[manifest.file_name] = found.hashes
        self.manifests += manifests

    def apply(self, run: CheckRun, entries: CheckedEntries, location: Location) -> None:
        """Apply entries in order; report an ADD of a live file and a DELETE of a missing file (I8)."""
        run.collector.check("I8", len(entries))
        held = self.live.find(entries.identity)
        stays = entries.added & (held < 0) & ~_repeated(entries.identity)
        known: dict[int, int | None] = {}
        """Of the identities that are not new: the number of the live file; ``-1 - row`` for a row of ``entries``."""
        for row in np.flatnonzero(~stays).tolist():
            identity = int(entries.identity[row])
            number = known[identity] if identity in known else int(held[row]) if held[row] >= 0 else None
            if entries.added[row]:
                if number is not None:
                    message = f"{location.holder} adds {_description(entries, row)}, which exists already"
                    run.collector.find("I8", location, message)
                    continue
                known[identity], stays[row] = -1 - row, True
            elif number is None:
                message = f"{location.holder} deletes {_description(entries, row)}, which does not exist"
                run.collector.find("I8", location, message)
            else:
                known[identity] = None
                if number < 0:
                    stays[-1 - number] = False
                else:
                    self.rows -= self.live.remove(number)
        self._add(entries.filter(stays))

    def _add(self, entries: CheckedEntries) -> None:
        self.rows += sum(entries.row_counts())
        self.live.add(entries)

    def load(self, run: CheckRun, manifests: Iterable[ManifestFile], location: Location) -> bool:
        """Load the files of the manifests; return False when a manifest cannot be read.

        The DELETE entry of a file may come before the ADD entry, because merged manifests are not ordered by time.
        """
        self.manifests = list(manifests)
        parts: list[CheckedEntries] = []
        for manifest in self.manifests:
            found = run.entries(manifest, location)
            if found is None:
                return False
            parts.append(found)
            self._hashes[manifest.file_name] = found.hashes
        net = _Net.of([p.identity for p in parts], [np.where(p.added, 1, -1) for p in parts])
        for at in np.flatnonzero((net.counts != 0) & (net.counts != 1))[
            np.argsort(net.first[(net.counts != 0) & (net.counts != 1)])
        ].tolist():
            count = int(net.counts[at])
            times = f"{count} times more often than" if count > 0 else "less often than"
            message = f"{location.holder}: file {_name(parts, int(net.first[at]))} is added {times} it is deleted"
            run.collector.find("I8", location, message)
        stays = np.zeros(sum(map(len, parts)), bool)
        stays[net.last_added[net.counts > 0]] = True
        run.collector.check("I8", int(np.count_nonzero(stays)))
        ends = np.cumsum([len(p) for p in parts])[:-1]
        for part, mask in zip(parts, np.split(stays, ends), strict=bool(parts)):
            self._add(part.filter(mask))
        return True

    def follow(self, run: CheckRun, base: list[ManifestFile], location: Location) -> bool:
        """Check that the next snapshot starts with the files of this object (I7).

        ``base`` are the manifests of the files with which the next snapshot starts. Return False when a manifest cannot
        be read, or when the next snapshot starts with more files or with fewer files.
        """
        current, following = {m.file_name for m in self.manifests}, {m.file_name for m in base}
        opened = [(m, -1) for m in self.manifests if m.file_name not in following]
        opened += [(m, 1) for m in base if m.file_name not in current]
        identities, changes, records, new = [], [], [], []
        for manifest, sign in opened:
            found = self._hashes.get(manifest.file_name)
            if found is None:
                entries = run.entries(manifest, location, whole=True)
                if entries is None:
                    return False
                found = self._hashes[manifest.file_name] = entries.hashes
            identities.append(found.identity)
            records.append(found.record)
            changes.append(np.where(found.added, sign, -sign))
            new.append(found.added if sign > 0 else np.zeros(len(found.added), bool))
        run.collector.check("I7")
        net = _Net.of(identities, changes, new)
        if opened and (net.counts.any() or net.last_added.max(initial=-1) >= 0):
            added = net.last_added[net.last_added >= 0]
            other = added[self.live.differ(np.concatenate(identities)[added], np.concatenate(records)[added])]
            for words, at in (
                ("has", net.first[net.counts > 0]),
                ("lacks", net.first[net.counts < 0]),
                ("has other records of", other),
            ):
                if len(at):
                    names = _names(run, [m for m, _ in opened], at, location)
                    more = f" and {len(names) - 3} more" if names[3:] else ""
                    run.collector.find(
                        "I7",
                        location,
                        f"{location.holder} does not start with the files of the snapshot before it: "
                        f"it {words} {', '.join(sorted(names)[:3])}{more}",
                    )
        self.manifests = list(base)
        self._hashes = {m.file_name: self._hashes[m.file_name] for m in base}
        return not net.counts.any()


@dataclass(frozen=True)
class _Net:
    """For each identity: how often entries add it more than they delete it, and the positions of its entries."""

    counts: Numbers
    first: Numbers
    last_added: Numbers
    """The last entry that adds the file; -1 if there is none."""

    @staticmethod
    def of(identities: Sequence[Numbers], changes: Sequence[Numbers], added: Sequence[Mask] | None = None) -> _Net:
        """Return the sums of ``changes``; ``added``: the entries of ``last_added``, by default those above 0."""
        none = np.zeros(0, np.int64)
        identity, change = np.concatenate([none, *identities]), np.concatenate([none, *changes])
        if not len(identity):
            return _Net(none, none, none)
        order = in_order(identity)
        together = identity[order]
        starts = np.flatnonzero(np.concatenate([[True], together[1:] != together[:-1]]))
        adds = change > 0 if added is None else np.concatenate(list(added))
        places = np.where(adds, np.arange(len(identity)), -1)[order]
        return _Net(np.add.reduceat(change[order], starts), order[starts], np.maximum.reduceat(places, starts))


def _repeated(identity: Numbers) -> Mask:
    """Return a mask of the values that occur more than once."""
    order = np.argsort(identity)
    together = identity[order]
    same = together[1:] == together[:-1]
    out = np.zeros(len(identity), bool)
    out[order[1:][same]] = out[order[:-1][same]] = True
    return out


def _name(parts: Sequence[CheckedEntries], at: int) -> str:
    for part in parts:
        if at < len(part):
            return part.names(np.array([at]))[0]
        at -= len(part)
    raise IndexError(at)


def _names(run: CheckRun, manifests: Iterable[ManifestFile], at: Numbers, location: Location) -> list[str]:
    """Return the names of the files at positions of the entries of all manifests, which are read again."""
    names: list[str] = []
    start = 0
    for manifest in manifests:
        found = run.entries(manifest, location)
        if found is not None:
            names += found.names(at[(at >= start) & (at < start + len(found))] - start)
            start += len(found)
    return names


def _description(entries: CheckedEntries, row: int) -> str:
    columns = entries.columns
    bucket, level = (int(columns.numbers[name][row]) for name in ("bucket", "level"))
    return f"file {entries.names(np.array([row]))[0]} of bucket {bucket}, level {level}"

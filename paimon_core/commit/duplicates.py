"""Duplicates: finds files that were already added to the table by an earlier commit.

Commit messages are sometimes committed twice. A file cannot have been added before its creation time. So if few
snapshots were created after this time, it is sufficient to read the deltas of these snapshots. Otherwise the manifests
that may contain the file are searched for the bytes of its name, which is much cheaper than decoding the entries. A
file that was rewritten with higher sequence numbers (``numbering``) counts as the same file: its name starts with the
name of the original file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from paimon_core.commit.base import Base
from paimon_core.commit.snapshot_history import changed_by, recent_changes
from paimon_core.errors import SnapshotNotFound
from paimon_core.metadata.manifests.entries import FileKind, ManifestEntry, ManifestFile
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.times.local_time import epoch_millis
from paimon_core.storage.paths import stem_of

DELTAS_READ = 20
"""The number of newest snapshots whose deltas are read instead of the manifests."""
CLOCKS_DIFFER_MILLIS = 26 * 3_600_000
"""The largest error of a file's creation time, which is stored as local time without its time zone."""


_RENUMBERED = re.compile(r"(.+-\d+)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}-\d+\.")
"""The name of a renumbered file (``FileNames.again``); group 1 is the stem of the original file."""


def added_before(base: Base, entries: Sequence[ManifestEntry]) -> Iterator[tuple[ManifestEntry, Snapshot | None]]:
    """Yield (entry, snapshot) for each entry whose file was already added; the snapshot is None if not known."""
    if base.snapshot is None or not entries:
        return
    if not _deltas_suffice(base, entries):
        yield from _named_in_manifests(base, entries)
        return
    for snapshot, changes in recent_changes(base, DELTAS_READ):
        for entry in among(entries, (e for e in changes if e.kind is FileKind.ADD)):
            yield entry, snapshot


def among(entries: Iterable[ManifestEntry], there: Iterable[ManifestEntry]) -> list[ManifestEntry]:
    """Return the ``entries`` whose file is in ``there``, unchanged or rewritten with other sequence numbers."""
    found = list(there)
    names = {e.identity for e in found}
    again = {(e.partition, e.bucket, m[1]) for e in found if (m := _RENUMBERED.match(e.file.file_name))}
    return [e for e in entries if e.identity in names or (e.partition, e.bucket, stem_of(e.file.file_name)) in again]


def _deltas_suffice(base: Base, entries: Sequence[ManifestEntry]) -> bool:
    """Whether the oldest of the newest ``DELTAS_READ`` snapshots was committed before any of the files was created."""
    try:
        first = base.context.snapshots.read(max(1, base.id - DELTAS_READ + 1))
    except SnapshotNotFound:
        return False
    if first.id == 1:
        return True
    created = [e.file.creation_time_millis for e in entries]
    times = [None if c is None else epoch_millis(c) for c in created]
    return all(t is not None and t - CLOCKS_DIFFER_MILLIS > first.time_millis for t in times)


def _named_in_manifests(
    base: Base, entries: Sequence[ManifestEntry]
) -> Iterator[tuple[ManifestEntry, Snapshot | None]]:
    partitions = {e.partition for e in entries}
    buckets = {e.bucket for e in entries}
    by_name = {e.file.file_name.encode(): e for e in entries}
    for manifest in base.manifests:
        if not base.may_hold(manifest, partitions) or not _may_hold_bucket(manifest, buckets):
            continue
        blocks = base.context.manifests.blocks_of(manifest)
        for name, entry in by_name.items():
            again = f"{stem_of(entry.file.file_name)}-".encode()
            if any(name in block or again in block for block in blocks):
                yield entry, changed_by(base, entry, FileKind.ADD)


def _may_hold_bucket(manifest: ManifestFile, buckets: set[int]) -> bool:
    low, high = manifest.min_bucket, manifest.max_bucket
    return low is None or high is None or any(low <= b <= high for b in buckets)

"""Duplicates: were these files added to the table before?

Messages travel, and some are committed again. A file cannot have been added before it was made, so where the deltas of
all snapshots since then are few they are enough. Otherwise the manifests that may name it are searched as bytes, which
costs far less than their entries do. A file that was written again under higher sequence numbers (``numbering``) stands
for its original, whose name begins its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from paimon_core.commit.base import Base
from paimon_core.commit.snapshot_history import changed_by, recent_changes
from paimon_core.errors import SnapshotNotFound
from paimon_core.metadata.local_time import epoch_millis
from paimon_core.metadata.manifest import FileKind, ManifestEntry, ManifestFile
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.storage.paths import stem_of

DELTAS_READ = 20
"""Snapshots whose deltas are read rather than the manifests."""
CLOCKS_DIFFER_MILLIS = 26 * 3_600_000
"""By how much a file's time may be off: it is local to whoever made it, in a zone that nothing records."""


_AGAIN = re.compile(r"(.+-\d+)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}-\d+\.")
"""The name of a file that was written again (``FileNames.again``): first the stem of its original."""


def added_before(base: Base, entries: Sequence[ManifestEntry]) -> Iterator[tuple[ManifestEntry, Snapshot | None]]:
    """Entries whose file the table has, or had, each with the snapshot that added it when that is still known."""
    if base.snapshot is None or not entries:
        return
    if not _deltas_tell(base, entries):
        yield from _named_in_manifests(base, entries)
        return
    for snapshot, changes in recent_changes(base, DELTAS_READ):
        for entry in among(entries, (e for e in changes if e.kind is FileKind.ADD)):
            yield entry, snapshot


def among(entries: Iterable[ManifestEntry], there: Iterable[ManifestEntry]) -> list[ManifestEntry]:
    """Those of ``entries`` whose file, or a file that holds its rows under higher numbers, is ``there``."""
    found = list(there)
    names = {e.identity for e in found}
    again = {(e.partition, e.bucket, m[1]) for e in found if (m := _AGAIN.match(e.file.file_name))}
    return [e for e in entries if e.identity in names or (e.partition, e.bucket, stem_of(e.file.file_name)) in again]


def _deltas_tell(base: Base, entries: Sequence[ManifestEntry]) -> bool:
    """Whether the newest snapshots reach back to before any of the files was made."""
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

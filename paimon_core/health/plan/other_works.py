"""Other works: moves of waiting rows, manifests, expiry of snapshots, and buckets that an option has changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from paimon_core.health.cost import REQUEST_BYTES, REQUESTS_A_FILE
from paimon_core.health.held import held_by
from paimon_core.health.known_lists import KnownLists, reading_lists_once
from paimon_core.health.layout import Layout
from paimon_core.health.places import counted, megabytes
from paimon_core.health.plan.candidates import COMPACT, COMPACT_MANIFESTS, EXPIRE, RESCALE, Candidate
from paimon_core.health.plan.measured import Measured
from paimon_core.health.plan.memory import BASE_BYTES, MOST_BYTES, peak_memory
from paimon_core.maintain.expiry.configured import retentions
from paimon_core.metadata import clock
from paimon_core.metadata.buckets import by_bucket
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.manifests.entries import ManifestFile
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.storage.paths import POSTPONE_BUCKET

_ENTRY_MEMORY = 2 << 10
"""The memory of an entry while manifests are rewritten."""


def waiting_works(context: TableContext, snapshot: Snapshot, measured: Measured) -> Iterator[tuple[Candidate, bytes]]:
    """Yield, for each partition with rows in the postpone bucket, the move of these rows to their buckets."""
    if not context.is_postponed:
        return
    with context.manifests.reading(snapshot):
        entries = [e for e in context.manifests.entries_of(snapshot) if e.bucket == POSTPONE_BUCKET]
    for (partition, bucket), found in by_bucket(entries).items():
        files = [e.file for e in found]
        size = sum(f.file_size for f in files)
        memory = peak_memory(files, context.schema, 1, context.options["write-buffer-size"])
        text = f"{counted(sum(f.row_count for f in files), 'row')} that no read sees"
        path = context.partition_path(partition) or None
        yield _candidate(context, COMPACT, size, size, size, memory, text, measured, path, bucket), partition


def manifest_works(
    context: TableContext, manifests: Sequence[ManifestFile], live_files: int, measured: Measured
) -> Iterator[Candidate]:
    """Yield the compaction of the manifests, if there are more than commits leave or entries of deleted files."""
    size = sum(m.file_size for m in manifests)
    entries = sum(m.num_added_files + m.num_deleted_files for m in manifests)
    kept = min(1.0, live_files / max(1, entries))
    needed = min(len(manifests), context.options["manifest.merge-min-count"])
    saved = size * (1 - kept) + (len(manifests) - needed) * REQUEST_BYTES
    if saved <= 0:
        return
    text = f"{counted(len(manifests), 'manifest')} with {entries:,} entries for {counted(live_files, 'file')}"
    memory = BASE_BYTES + _ENTRY_MEMORY * entries
    yield _candidate(context, COMPACT_MANIFESTS, saved, size, int(size * kept), memory, text, measured)


def expiry_works(context: TableContext, snapshot: Snapshot, measured: Measured) -> Iterator[Candidate]:
    """Yield the expiry of the snapshots that the options of the table no longer keep, if it frees bytes.

    Files that tags, branches or consumers protect are counted as if they were freed.
    """
    now = clock.now_millis()
    retention, _ = retentions(context, now)
    ids = context.snapshots.ids()
    if len(ids) <= max(1, retention.retain_min):
        return
    lists = KnownLists()
    held = held_by(reading_lists_once(context, lists), snapshot, lists)
    times = [v.snapshot.time_millis for v in held.versions]
    count = len(times)
    old = sum(1 for following in times[1:] if following < retention.older_than_millis)
    gone = max(min(old, count - retention.retain_min), count - retention.retain_max)
    gone = max(0, min(gone, retention.limit, count - 1))
    freed = held.snapshots - held.if_oldest[gone] if gone else 0
    if freed <= 0:
        return
    text = f"{counted(gone, 'snapshot')} that the options do not keep"
    yield _candidate(context, EXPIRE, freed, 0, 0, BASE_BYTES + _ENTRY_MEMORY * held.snapshot_count, text, measured)


def rescale_works(context: TableContext, layout: Layout, measured: Measured) -> Iterator[tuple[Candidate, bytes]]:
    """Yield the rescale of each partition whose number of buckets is larger than option ``bucket``.

    Fewer buckets save files. More buckets save nothing in a full scan, so they are never a candidate.
    """
    target = context.options["bucket"]
    if not isinstance(target, int) or target < 1:
        return
    file_bytes = max(1, context.options.target_file_bytes(keyed=context.is_keyed))
    for at in np.unique(layout.partition[layout.total_buckets > target]):
        of = layout.partition == at
        size, files = int(layout.bytes[of].sum()), int(layout.files[of].sum())
        needed = max(target, -(-size // file_bytes))
        saved = REQUESTS_A_FILE * REQUEST_BYTES * (files - needed) + int(layout.merged_bytes[of].sum())
        if saved <= 0:
            continue
        partition = layout.partitions[at]
        memory = BASE_BYTES + MOST_BYTES + 2 * context.options["write-buffer-size"]
        text = f"{int(layout.total_buckets[of].max())} buckets where option bucket is {target}, {megabytes(size)}"
        path = context.partition_path(partition) or None
        yield _candidate(context, RESCALE, saved, size, size, memory, text, measured, path), partition


def _candidate(
    context: TableContext,
    action: str,
    saved: float,
    bytes_read: int,
    bytes_written: int,
    memory: int,
    reason: str,
    measured: Measured,
    partition: str | None = None,
    bucket: int | None = None,
) -> Candidate:
    table = context.name.partition("$")[0]
    seconds = measured.seconds(action, bytes_read + bytes_written)
    cost = (bytes_read, bytes_written, seconds, memory)
    return Candidate(table, context.branch, action, partition, bucket, float(saved), *cost, reason)

"""Layout: the live files of one version of a table, summed by bucket, as columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from paimon_core.codec.parquet.raw_footer import TAIL_BYTES
from paimon_core.health.file_requests import file_requests
from paimon_core.maintain.file_indexes import can_have_indexes
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.plan.entry_table import EntryTable
from paimon_core.plan.live_files import read_live_files
from paimon_core.plan.plan_scan import hides_level_0
from paimon_core.plan.prune import Pruners

Numbers = npt.NDArray[np.int64]
UNKNOWN_TIME = np.iinfo(np.int64).min


@dataclass(frozen=True)
class Layout:
    """Arrays with one value for each bucket that has files; only ``partitions`` has one value for each partition."""

    partitions: Sequence[bytes]
    """The distinct serialized partitions."""
    partition: Numbers
    """The position of each bucket's partition in ``partitions``."""
    bucket: Numbers
    total_buckets: Numbers
    files: Numbers
    bytes: Numbers
    rows: Numbers
    """Rows in files, before merging."""
    level_0_files: Numbers
    runs: Numbers
    """Sorted runs: each file of level 0, and each higher level with files. Without a primary key: files."""
    merged_bytes: Numbers
    """The bytes of a bucket with several sorted runs, whose rows a read must merge; 0 for a bucket with one run, and
    for all buckets of a table whose reads leave out level 0.
    """
    needed_files: Numbers
    """The number of files of ``target-file-size`` that the bytes of the bucket need."""
    deleted: Numbers
    """Rows of kind -U and -D in the files that record this number."""
    without_index: Numbers
    """Files without a file index, in their manifest entry or beside them, that could have one.

    0 for a table that declares no indexes. A file that is older than all indexed columns cannot have one."""
    tail_bytes: Numbers
    """Bytes that a read fetches twice: the last 64 KiB of Parquet files, in which their footers are found."""
    scanned_bytes: Numbers
    """The bytes that a full scan reads: without level 0 where reads leave it out."""
    scan_requests: Numbers
    """Estimated requests of a full scan to an object store, for data files."""
    oldest_level_0: Numbers
    """The creation time (local, milliseconds) of the oldest file of level 0; ``UNKNOWN_TIME`` if there is none."""
    file_format: str = field(kw_only=True)
    """The format of new data files (option ``file.format``), which is assumed for all."""

    def __len__(self) -> int:
        return len(self.bucket)

    @cached_property
    def partition_bytes(self) -> Numbers:
        """The bytes of each partition."""
        out = np.zeros(len(self.partitions), np.int64)
        np.add.at(out, self.partition, self.bytes)
        return out

    @property
    def total_bytes(self) -> int:
        """The bytes of all live data files."""
        return int(self.bytes.sum())

    @property
    def total_files(self) -> int:
        """The number of live data files."""
        return int(self.files.sum())

    @property
    def deleted_rows(self) -> int:
        """The recorded number of rows of kind -U and -D in files."""
        return int(self.deleted.sum())

    @property
    def avoidable_files(self) -> int:
        """The number of files that a full compaction would save."""
        return int(np.maximum(self.files - self.needed_files, 0).sum())


def layout_of(context: TableContext, snapshot: Snapshot | None) -> Layout:
    """Return the layout of a snapshot.

    Raises SnapshotNotFound when it has expired, CorruptTable for metadata that cannot be read.
    """
    if snapshot is None:
        none = np.zeros(0, np.int64)
        return Layout([], *[none] * 16, file_format=context.options["file.format"])
    with context.manifests.reading(snapshot):
        live = read_live_files(context.manifests, snapshot, Pruners(), None, level_0=True, evolves=True).table
    group, first = live.buckets()
    count = len(first)

    def summed(values: npt.NDArray[np.generic]) -> Numbers:
        out = np.zeros(count, np.int64)
        np.add.at(out, group, values)
        return out

    files, size = np.bincount(group, minlength=count), summed(live.file_size)
    is_flushed = live.level == 0
    runs = files
    if context.is_keyed:
        higher = np.unique(np.stack([group[live.level > 0], live.level[live.level > 0]]), axis=1)[0]
        runs = np.bincount(group[is_flushed], minlength=count) + np.bincount(higher, minlength=count)
    oldest = np.full(count, np.iinfo(np.int64).max)
    at = np.flatnonzero(is_flushed)
    created = live.created(at)
    np.minimum.at(oldest, group[at], np.where(created == UNKNOWN_TIME, np.iinfo(np.int64).max, created))
    file_format = context.options["file.format"]
    hides = hides_level_0(context.schema, context.options)
    scanned = np.where(is_flushed & hides, 0, live.file_size)
    merges = context.is_keyed and not hides
    target = max(1, context.options.target_file_bytes(keyed=context.is_keyed))
    return Layout(
        partitions=live.partitions,
        partition=live.partition[first],
        bucket=live.bucket[first],
        total_buckets=live.total_buckets[first],
        files=files,
        bytes=size,
        rows=summed(live.row_count),
        level_0_files=np.bincount(group[is_flushed], minlength=count),
        runs=runs,
        merged_bytes=np.where(runs > 1, size, 0) if merges else np.zeros(count, np.int64),
        needed_files=np.maximum(1, -(-size // target)),
        deleted=summed(live.deleted(np.arange(len(live)))),
        without_index=np.bincount(group[_without_index(context, live)], minlength=count),
        tail_bytes=summed(np.minimum(scanned, TAIL_BYTES if file_format == "parquet" else 0)),
        scanned_bytes=summed(scanned),
        scan_requests=summed(np.where(is_flushed & hides, 0, file_requests(live.file_size, file_format))),
        oldest_level_0=np.where(oldest == np.iinfo(np.int64).max, UNKNOWN_TIME, oldest),
        file_format=file_format,
    )


def _without_index(context: TableContext, live: EntryTable) -> Numbers:
    """Return the positions of files without an index that could have one, if the options declare indexes."""
    if not context.options.file_indexes:
        return np.zeros(0, np.int64)
    able = [i for i in map(int, np.unique(live.schema_id)) if can_have_indexes(context, i)]
    at = np.flatnonzero(~live.indexed & np.isin(live.schema_id, able))
    beside = [any(name.endswith(".index") for name in extra) for extra in live.extra_files(at)]
    found: Numbers = at[~np.array(beside, bool)]
    return found

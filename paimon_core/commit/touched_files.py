"""TouchedFiles: the live files of the buckets that a commit changes, as columns that conflict checks need.

Manifests are read one at a time. Of each only the entries of the touched buckets stay in memory, without their column
statistics, so a check of a table of a million files needs the memory of one manifest and of the touched files.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from paimon_core.codec.avro.columns import Mask, Numbers
from paimon_core.commit.base import Base
from paimon_core.metadata.manifests.entries import ManifestEntry, ManifestFile
from paimon_core.metadata.manifests.entry_columns import EntryColumns, live
from paimon_core.metadata.stores.live_manifests import JOINED_FILES

Place = tuple[bytes, int]
"""A partition and the number of a bucket."""


@dataclass(frozen=True)
class TouchedFiles:
    """The live files of some buckets, and what the check of the number of buckets needs of the other buckets."""

    files: EntryColumns
    """The live files of the touched buckets, in the order of the manifests, without column statistics."""
    others: Sequence[ManifestEntry]
    """One live entry for each number of buckets of a partition, among the other buckets; only of partitions that have
    or get several numbers."""


def touched_files(base: Base, entries: Sequence[ManifestEntry]) -> TouchedFiles:
    """Return the live files of the buckets in which ``entries`` add or delete files.

    Raises the errors of ``Base.read_each``.
    """
    places = {(e.partition, e.bucket) for e in entries}
    partitions = {e.partition for e in entries}
    opened = [m for m in base.manifests if base.may_hold(m, partitions)]
    parts: list[EntryColumns] = []
    numbers: defaultdict[bytes, set[int]] = defaultdict(set)
    """The numbers of buckets of each partition."""
    for columns in _each(base, opened, partitions):
        inside = _in_places(columns, places)
        _add_numbers(numbers, columns)
        parts.append(columns.without_statistics().gathered(np.flatnonzero(inside)))
    for entry in entries:
        numbers[entry.partition].add(entry.total_buckets)
    files = EntryColumns.concat(parts)
    # A DELETE entry is in the bucket of its ADD entry, so the live files of a bucket follow from its entries alone.
    return TouchedFiles(files.filter(live(files)), _one_of_each_number(base, places, numbers))


def _each(base: Base, opened: Sequence[ManifestFile], partitions: Collection[bytes]) -> Iterator[EntryColumns]:
    """Yield the entries of each manifest that has entries in the partitions.

    Of a large table no manifest is cached, as in plans: the entries of a million files need half a gigabyte.
    """
    keep = sum(m.num_added_files + m.num_deleted_files for m in opened) <= JOINED_FILES
    for manifest in opened:
        found = EntryColumns.concat([base.read_among(manifest, partitions, keep=keep)])
        columns = found.of_partitions(partitions.__contains__)
        if len(columns):
            yield columns


def _in_places(columns: EntryColumns, places: Collection[Place]) -> Mask:
    """Return a mask of the entries that are in some buckets."""
    code, partitions = columns.partition_codes()
    buckets, bucket = np.unique(columns.numbers["bucket"], return_inverse=True)
    place, each = np.unique(code * len(buckets) + bucket, return_inverse=True)
    names = ((partitions[at // len(buckets)], int(buckets[at % len(buckets)])) for at in place.tolist())
    return np.array([name in places for name in names], bool)[each]


def _pairs(columns: EntryColumns) -> Numbers:
    """Return the first position of each pair of a partition and a number of buckets."""
    code, total = columns.partition_codes()[0], columns.numbers["total_buckets"]
    if not len(columns):
        return np.zeros(0, np.int64)
    width = int(total.max()) - int(total.min()) + 1
    return np.sort(np.unique(code * width + (total - total.min()), return_index=True)[1])


def _add_numbers(numbers: defaultdict[bytes, set[int]], columns: EntryColumns) -> None:
    at = _pairs(columns)
    code, partitions = columns.partition_codes()
    for place, total in zip(code[at].tolist(), columns.numbers["total_buckets"][at].tolist(), strict=True):
        numbers[partitions[place]].add(total)


def first_of_each_number(columns: EntryColumns) -> list[ManifestEntry]:
    """Return one entry for each partition and number of buckets, in the order of the entries."""
    return columns.entries(_pairs(columns))


def runs_of(columns: EntryColumns) -> Numbers:
    """Return for each entry a number that is the same for entries of one partition, bucket and level only."""
    number = columns.partition_codes()[0]
    for name in ("bucket", "level"):
        values = columns.numbers[name]
        low, high = int(values.min(initial=0)), int(values.max(initial=0))
        number = np.unique(number * (high - low + 1) + values - low, return_inverse=True)[1].astype(np.int64)
    return number


def _one_of_each_number(
    base: Base, places: Collection[Place], numbers: defaultdict[bytes, set[int]]
) -> list[ManifestEntry]:
    several = {partition for partition, totals in numbers.items() if sum(total > 0 for total in totals) > 1}
    if not several:
        return []
    columns = base.live_columns(several.__contains__, several)
    return first_of_each_number(columns.filter(~_in_places(columns, places)) if len(columns) else columns)

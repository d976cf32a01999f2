"""describe: the record of a manifest in a manifest list, with the ranges of its entries (format 4.2)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from paimon_core.codec.binary_row.rows import decode_row, encode_row
from paimon_core.metadata.column_stats import EMPTY_STATS, ColumnStats
from paimon_core.metadata.manifests.entries import FileKind, ManifestEntry, ManifestFile
from paimon_core.types import DataType, TypeRoot


def describe(
    file_name: str, file_size: int, entries: Sequence[ManifestEntry], partition_types: Sequence[DataType]
) -> ManifestFile:
    """Return the manifest list record of a manifest that contains ``entries``, at least one entry (format 4.2)."""
    added = sum(entry.kind is FileKind.ADD for entry in entries)
    buckets = [entry.bucket for entry in entries]
    levels = [entry.file.level for entry in entries]
    rows = [(entry.file.first_row_id, entry.file.row_count) for entry in entries]
    tracked = [(first, first + count - 1) for first, count in rows if first is not None]
    with_rows = len(tracked) == len(rows)
    return ManifestFile(
        file_name=file_name,
        file_size=file_size,
        num_added_files=added,
        num_deleted_files=len(entries) - added,
        partition_stats=partition_stats(entries, partition_types),
        schema_id=max(entry.file.schema_id for entry in entries),
        min_bucket=min(buckets),
        max_bucket=max(buckets),
        min_level=min(levels),
        max_level=max(levels),
        min_row_id=min(first for first, _ in tracked) if with_rows else None,
        max_row_id=max(last for _, last in tracked) if with_rows else None,
    )


def partition_stats(entries: Sequence[ManifestEntry], types: Sequence[DataType]) -> ColumnStats:
    """Return minimum, maximum and null count of each partition column; texts are never shortened (format 4.2)."""
    if not types:
        return EMPTY_STATS
    counts = Counter(entry.partition for entry in entries)
    columns = list(zip(*(decode_row(partition, types) for partition in counts), strict=True))
    lows, highs, nulls = [], [], []
    for values, dtype in zip(columns, types, strict=True):
        order = _float_order if dtype.root in (TypeRoot.FLOAT, TypeRoot.DOUBLE) else None
        present = [value for value in values if value is not None]
        lows.append(min(present, key=order, default=None))
        highs.append(max(present, key=order, default=None))
        nulls.append(sum(n for value, n in zip(values, counts.values(), strict=True) if value is None))
    row_types = [dtype.with_nullable(True) for dtype in types]
    return ColumnStats(encode_row(lows, row_types), encode_row(highs, row_types), tuple(nulls))


def _float_order(value: float) -> tuple[bool, float, float]:
    """Return a sort key that orders NaN last, and -0.0 before 0.0."""
    return math.isnan(value), value, math.copysign(1.0, value)

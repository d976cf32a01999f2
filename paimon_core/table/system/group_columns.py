"""The columns of the system tables with sums over files: ``partitions`` and ``buckets``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.codec.binary_row.rows import storage_values
from paimon_core.codec.partition_text import partition_values
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.manifests.entry_columns import EntryColumns
from paimon_core.metadata.manifests.index_manifest import DELETION_VECTORS
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.table.system.columns import Makers
from paimon_core.table.system.partition_columns import partition_makers
from paimon_core.table.system.source import Source
from paimon_core.table.system.texts import cast_texts, decoded_columns

PARTITIONS = (
    "partition STRING, record_count BIGINT NOT NULL, file_size_in_bytes BIGINT NOT NULL, file_count BIGINT NOT NULL, "
    "last_update_time TIMESTAMP(3), created_at TIMESTAMP(3), created_by STRING, updated_by STRING, options STRING, "
    "total_buckets INT NOT NULL, done BOOLEAN NOT NULL, deleted_record_count BIGINT"
)
BUCKETS = (
    "partition STRING, bucket INT NOT NULL, record_count BIGINT NOT NULL, file_size_in_bytes BIGINT NOT NULL, "
    "file_count BIGINT NOT NULL, last_update_time TIMESTAMP(3)"
)
OWN_BUCKETS = "level0_files BIGINT NOT NULL, sorted_runs BIGINT NOT NULL"
_Numbers = npt.NDArray[np.int64]
_NUMBERS = ("row_count", "file_size", "level", "total_buckets", "creation_time_millis")
_LEAST = np.iinfo(np.int64).min
"""A creation time that is null."""


class _Groups:
    """Live files in groups; each method returns one value per group, computed for all groups at once.

    Of each file only the numbers are kept, in the columns of ``_NUMBERS``.
    """

    def __init__(self, context: TableContext, files: Iterable[EntryColumns], *, by_bucket: bool = False) -> None:
        """Group ``files`` by partition, and with ``by_bucket`` by bucket too; groups are sorted as in Java."""
        places: dict[tuple[bytes, int], int] = {}
        found: list[_Numbers] = []
        parts: dict[str, list[_Numbers]] = {name: [] for name in _NUMBERS}
        for columns in files:
            code, partitions = columns.partition_codes()
            buckets, bucket = np.unique(columns.numbers["bucket"], return_inverse=True)
            if not by_bucket:
                buckets, bucket = np.zeros(1, np.int64), np.zeros(len(columns), np.int64)
            each, of = np.unique(code * len(buckets) + bucket, return_inverse=True)
            keys = [(partitions[at // len(buckets)], int(buckets[at % len(buckets)])) for at in each.tolist()]
            found.append(np.array([places.setdefault(key, len(places)) for key in keys], np.int64)[of])
            for name, values in parts.items():
                number = np.array(columns.numbers[name], np.int64)
                if name in columns.nulls:
                    number[columns.nulls[name]] = _LEAST
                values.append(number)
        self.keys = sorted(places, key=lambda key: (context.partition_path(key[0]), key[1]))
        ranks = np.empty(len(places), np.int64)
        ranks[[places[key] for key in self.keys]] = np.arange(len(places))
        self.of = ranks[np.concatenate([np.zeros(0, np.int64), *found])]
        self.partitions = [partition for partition, _ in self.keys]
        self._numbers = {name: np.concatenate([np.zeros(0, np.int64), *values]) for name, values in parts.items()}

    def count(self, among: npt.NDArray[np.bool_] | None = None) -> pa.Array:
        """Return the number of entries of each group; ``among`` marks the entries to count, None: all."""
        return pa.array(np.bincount(self.of if among is None else self.of[among], minlength=len(self.keys)))

    def total(self, values: _Numbers) -> pa.Array:
        """Return the sum of ``values`` (one per entry) of each group, as exact int64 numbers."""
        out = np.zeros(len(self.keys), np.int64)
        np.add.at(out, self.of, values)
        return pa.array(out)

    def newest(self) -> pa.Array:
        """Return the latest creation time of each group; null if no file of the group has a creation time."""
        out = np.full(len(self.keys), _LEAST)
        np.maximum.at(out, self.of, self._numbers["creation_time_millis"])
        return pa.array(out, mask=out == _LEAST)

    def last(self, name: str) -> pa.Array:
        """Return the number ``name`` of the last file of each group."""
        out = np.zeros(len(self.keys), np.int64)
        out[self.of] = self._numbers[name]  # numpy assigns in order, so the last value stays
        return pa.array(out)

    def numbers(self, name: str) -> _Numbers:
        """Return the number ``name`` of each file."""
        return self._numbers[name]

    def sums(self) -> Makers:
        """Return the columns that ``partitions`` and ``buckets`` have in common."""
        return {
            "record_count": lambda: self.total(self.numbers("row_count")),
            "file_size_in_bytes": lambda: self.total(self.numbers("file_size")),
            "file_count": self.count,
            "last_update_time": lambda: self.newest().cast(pa.timestamp("ms")),
        }


def partition_sums(source: Source) -> Makers:
    """Return the columns of ``partitions``: physical rows (before merging), bytes and files of each partition.

    The columns ``created_at``, ``created_by``, ``updated_by`` and ``options`` are null and ``done`` is false, because
    only some of Java's catalogs store them.
    """
    context = source.context
    everything = replace(source, where=None)  # the texts of this table's partitions have another form
    groups, deleted = source.of_snapshot(
        lambda snapshot: (_Groups(context, everything.live(snapshot)), _deleted_rows(context, snapshot))
    )
    count = len(groups.keys)
    return {
        **partition_makers(context, groups.partitions),
        "partition": lambda: _paths(context, groups.partitions),
        **groups.sums(),
        **{name: lambda: [None] * count for name in ("created_at", "created_by", "updated_by", "options")},
        "total_buckets": lambda: groups.last("total_buckets"),
        "done": lambda: [False] * count,
        "deleted_record_count": lambda: [deleted.get(partition, 0) for partition in groups.partitions],
    }


def partition_rows(source: Source) -> list[tuple[bytes, int, int, int, int | None]]:
    """Return per partition: serialized partition, rows, bytes, files, newest creation time (local, milliseconds)."""
    groups = _Groups(source.context, source.each())
    sums = (groups.total(groups.numbers("row_count")), groups.total(groups.numbers("file_size")), groups.count())
    return list(zip(groups.partitions, *(column.to_pylist() for column in (*sums, groups.newest())), strict=True))


def bucket_sums(source: Source) -> Makers:
    """Return the columns of ``buckets``: physical rows (before merging), bytes, files, level-0 files, sorted runs."""
    context = source.context
    groups = _Groups(context, source.each(), by_bucket=True)

    def runs() -> pa.Array:
        if not context.is_keyed:
            return groups.count()
        levels = groups.numbers("level")
        pairs = np.unique(np.stack([groups.of[levels > 0], levels[levels > 0]]), axis=1)
        upper = np.bincount(pairs[0], minlength=len(groups.keys))
        return pc.add(groups.count(levels == 0), pa.array(upper))

    return {
        **partition_makers(context, groups.partitions),
        "bucket": lambda: [bucket for _, bucket in groups.keys],
        **groups.sums(),
        "level0_files": lambda: groups.count(groups.numbers("level") == 0),
        "sorted_runs": runs,
    }


def _deleted_rows(context: TableContext, snapshot: Snapshot | None) -> dict[bytes, int | None]:
    """Return by partition the number of rows in deletion vectors; None if it is not recorded."""
    deleted: dict[bytes, int | None] = {}
    if snapshot is None or not context.options["deletion-vectors.enabled"] or snapshot.index_manifest is None:
        return deleted
    with context.manifests.reading(snapshot):
        indexes = context.manifests.read_indexes(snapshot.index_manifest)
    for one in indexes:
        if one.file.index_type == DELETION_VECTORS:
            counts = [v.cardinality for v in one.file.vectors or ()]
            before = deleted.get(one.partition, 0)
            known = before is not None and None not in counts
            deleted[one.partition] = (before or 0) + sum(c or 0 for c in counts) if known else None
    return deleted


def _paths(context: TableContext, partitions: Sequence[bytes]) -> pa.Array:
    """Return a text such as ``day=2024-01-31/x=1`` per partition, without escapes; "" without partition columns."""
    fields = context.schema.partition_fields
    if not fields:
        return pa.repeat(pa.scalar(""), len(partitions))
    types, absent = [f.type for f in fields], context.options["partition.default-name"]
    texts = []
    for f, column in zip(fields, decoded_columns(partitions, types), strict=True):
        # Null and blank texts have the same directory, the default partition.
        stored = [
            partition_values((v,), (f.type,), legacy=False, default_name="") for v in storage_values(column, f.type)
        ]
        text = pc.if_else(pa.array([one == ("",) for one in stored], pa.bool_()), absent, cast_texts(column, f.type))
        texts.append(pc.binary_join_element_wise(f"{f.name}=", text, ""))
    return pc.binary_join_element_wise(*texts, "/")

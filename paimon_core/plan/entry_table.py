"""EntryTable: manifest entries as columns, for planning.

``ManifestEntry`` values are created only for requested entries.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from paimon_core.codec.binary_row.row_columns import RowBytes
from paimon_core.lsm.key_ranks import ranks_of_keys
from paimon_core.metadata.data_file import DataFile, FileSource
from paimon_core.metadata.manifests.entries import ManifestEntry
from paimon_core.metadata.manifests.entry_columns import EntryColumns
from paimon_core.types import DataType

Numbers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
ByteColumn = tuple[npt.NDArray[np.uint8], Numbers, Numbers]
"""Byte strings in one buffer: the buffer, and the start and the length of each byte string."""

_FILE_NUMBERS = ("schema_id", "level", "file_size", "row_count", "min_sequence_number", "max_sequence_number")
_MASKS = ("clean", "compacted", "unusual", "indexed")
_SPLIT_BYTES = 400
"""The estimated bytes of a split in a cached plan."""


@dataclass(frozen=True)
class StatsBytes:
    """The serialized statistics of keys or of values: minima, maxima and null counts of each file."""

    low: ByteColumn
    high: ByteColumn
    null_counts: Sequence[tuple[int | None, ...]]

    def present(self) -> Mask:
        """Return one boolean per file: whether the file has statistics.

        Without statistics, the row of minima has no fields.
        """
        buffer, starts, lengths = self.low
        out = lengths >= 4
        out[out] = buffer[starts[out][:, None] + np.arange(4)].any(axis=1)
        return out

    @staticmethod
    def rows(column: ByteColumn, chosen: Mask, arity: int) -> RowBytes:
        """Return the chosen rows of a column."""
        buffer, starts, lengths = column
        return RowBytes(buffer, starts[chosen], lengths[chosen], arity)


@dataclass(frozen=True)
class EntryTable:
    """Live manifest entries, one array for each field.

    ``partitions`` are the distinct serialized partitions; ``partition`` contains the position of each entry's
    partition.
    """

    partitions: Sequence[bytes]
    partition: Numbers
    bucket: Numbers
    total_buckets: Numbers
    schema_id: Numbers
    level: Numbers
    file_size: Numbers
    row_count: Numbers
    min_sequence_number: Numbers
    max_sequence_number: Numbers
    clean: Mask
    """Whether the manifest entry states that the file contains no row of kind -U or -D (``metadata.known_deletes``)."""
    compacted: Mask
    """Whether a compaction wrote the file."""
    unusual: Mask
    """Whether the file may have an external path, only some of the columns, or another kind of content than rows."""
    indexed: Mask
    """Whether the entry contains a file index."""
    cover: Numbers
    """For each entry, the position in ``covers`` of the columns that its value statistics cover."""
    covers: Sequence[tuple[int, tuple[str, ...] | None]]
    """Pairs of a schema id and the columns that have statistics; None: all columns."""
    entries: Callable[[Numbers], list[ManifestEntry]]
    """Returns the entries at the given positions as ``ManifestEntry`` values."""
    keys: Callable[[Numbers], tuple[ByteColumn, ByteColumn]]
    """Returns the smallest and the largest serialized keys of the files at the given positions."""
    created: Callable[[Numbers], Numbers]
    """Returns the creation times of the files at the given positions, in milliseconds of local time.

    An unknown time is returned as the smallest 64-bit integer.
    """
    deleted: Callable[[Numbers], Numbers]
    """Returns the number of rows of kind -U or -D of each file at the given positions; 0 if it is not recorded."""
    extra_files: Callable[[Numbers], Sequence[tuple[str, ...]]]
    """Returns the names of the extra files of the files at the given positions."""
    key_stats: Callable[[Numbers], StatsBytes]
    value_stats: Callable[[Numbers], StatsBytes]
    """``key_stats`` and ``value_stats`` return the statistics of the files at the given positions."""
    entry_bytes: int = 0
    """The bytes of memory of the entries."""
    packed: dict[Hashable, list[Any]] = field(default_factory=dict, compare=False, repr=False)
    """A cache for later plans of the same snapshot: the splits of these entries, by the rule of the last packing."""

    def __len__(self) -> int:
        return len(self.partition)

    def memory(self) -> Mapping[int, int]:
        """Return the bytes of memory of the entries and of the cached splits."""
        return {id(self): self.entry_bytes + _SPLIT_BYTES * sum(map(len, list(self.packed.values())))}

    @staticmethod
    def of_columns(entries: EntryColumns) -> EntryTable:
        """Return the table of ``entries``, which must be live."""
        partition, partitions = entries.partition_codes()
        cover, covers = _covers(entries)
        numbers = entries.numbers
        clean = numbers["delete_row_count"] == 0
        if "delete_row_count" in entries.nulls:
            clean &= ~entries.nulls["delete_row_count"]

        def rows(name: str, at: Numbers) -> ByteColumn:
            starts, lengths = entries.spans[name]
            return entries.buffer, starts[at].astype(np.int64), lengths[at].astype(np.int64)

        def stats(of: str) -> Callable[[Numbers], StatsBytes]:
            def chosen(at: Numbers) -> StatsBytes:
                low, high = (rows(f"{of}_{name}_values", at) for name in ("min", "max"))
                return StatsBytes(low, high, entries.column(f"{of}_null_counts", at))

            return chosen

        def created(at: Numbers) -> Numbers:
            found = numbers["creation_time_millis"][at]
            nulls = entries.nulls.get("creation_time_millis")
            return found if nulls is None else np.where(nulls[at], np.iinfo(np.int64).min, found)

        columns: dict[str, Any] = {name: numbers[name] for name in ("bucket", "total_buckets", *_FILE_NUMBERS)}
        return EntryTable(
            partitions=partitions,
            partition=partition,
            created=created,
            deleted=lambda at: numbers["delete_row_count"][at],
            extra_files=lambda at: entries.column("extra_files", at),
            clean=clean,
            compacted=_are_compacted(entries),
            unusual=_are_unusual(entries),
            indexed=entries.spans["embedded_index"].lengths >= 0,
            cover=cover,
            covers=covers,
            entries=entries.entries,
            keys=lambda at: (rows("min_key", at), rows("max_key", at)),
            key_stats=stats("key"),
            value_stats=stats("value"),
            entry_bytes=entries.nbytes + 3 * partition.nbytes,
            **columns,
        )

    def taken(self, at: Numbers) -> EntryTable:
        """Return the entries at some positions."""
        names = ("partition", "bucket", "total_buckets", *_FILE_NUMBERS, *_MASKS, "cover")
        entries, keys, created, deleted = self.entries, self.keys, self.created, self.deleted
        extra_files = self.extra_files
        key_stats, value_stats = self.key_stats, self.value_stats
        columns: dict[str, Any] = {name: getattr(self, name)[at] for name in names}
        return EntryTable(
            partitions=self.partitions,
            covers=self.covers,
            entries=lambda some: entries(at[some]),
            keys=lambda some: keys(at[some]),
            created=lambda some: created(at[some]),
            deleted=lambda some: deleted(at[some]),
            extra_files=lambda some: extra_files(at[some]),
            key_stats=lambda some: key_stats(at[some]),
            value_stats=lambda some: value_stats(at[some]),
            **columns,
        )

    def files(self, at: Numbers) -> tuple[DataFile, ...]:
        """Return the files at some positions."""
        return tuple(e.file for e in self.entries(at))

    def buckets(self) -> tuple[Numbers, list[int]]:
        """Return (numbers, first entries): the number of each entry's bucket, and the first entry of each bucket.

        Buckets are numbered in order of first appearance.
        """
        if not len(self):
            return np.zeros(0, np.int64), []
        names, bucket = np.unique(self.bucket, return_inverse=True)
        _, first, group = np.unique(self.partition * len(names) + bucket, return_index=True, return_inverse=True)
        order = np.argsort(first)
        numbers = np.empty(len(order), np.int64)
        numbers[order] = np.arange(len(order))
        return numbers[group], first[order].tolist()

    def key_ranks(self, at: Numbers, types: Sequence[DataType]) -> tuple[Numbers, Numbers]:
        """Return numbers for the smallest and the largest keys of the files at some positions (``ranks_of_keys``)."""
        lows, highs = self.keys(at)
        return ranks_of_keys(RowBytes(*lows, len(types)), RowBytes(*highs, len(types)), types)


def _are_compacted(entries: EntryColumns) -> Mask:
    out: Mask = entries.numbers["file_source"] == FileSource.COMPACT
    if "file_source" in entries.nulls:
        out &= ~entries.nulls["file_source"]
    return out


def _are_unusual(entries: EntryColumns) -> Mask:
    out = entries.names_ending(b".blob") | entries.names_with(b".vector.")
    for name in ("external_path", "write_cols"):
        out |= entries.spans[name].lengths >= 0
    return out


def _covers(entries: EntryColumns) -> tuple[Numbers, list[tuple[int, tuple[str, ...] | None]]]:
    """Return the fields ``cover`` and ``covers`` of an ``EntryTable``."""
    code = entries.numbers["schema_id"]
    for name in ("value_stats_cols", "write_cols"):
        codes, distinct = entries.codes(name)
        code = np.unique(code, return_inverse=True)[1] * len(distinct) + codes
    _, first, cover = np.unique(code, return_index=True, return_inverse=True)
    ids, stats, written = (entries.column(name, first) for name in ("schema_id", "value_stats_cols", "write_cols"))
    each = zip(ids, stats, written, strict=True)
    return cover, [(schema_id, columns if some is None else some) for schema_id, some, columns in each]

"""CheckedEntries: manifest entries as columns, with hashes that tell equal identities and equal records.

A check of a million files compares hashes of 64 bits instead of ``ManifestEntry`` values. Values are created for
findings only, and by deep checks, which read each file anyway.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from paimon_core.codec.avro.columns import PADDING, Mask, Numbers
from paimon_core.codec.avro.digests import digests
from paimon_core.metadata.manifests.entries import FileKind
from paimon_core.metadata.manifests.entry_columns import Entries, EntryColumns, Indices

Place = tuple[bytes, int]
"""A serialized partition and a bucket."""
_Hashes = npt.NDArray[np.uint64]
_IDENTITY_SPANS = ("partition", "extra_files", "embedded_index", "external_path")
_ARRAYS = (
    "extra_files",
    "key_null_counts",
    "value_null_counts",
    "value_stats_cols",
    "write_cols",
    "write_cols_sequences",
)
_LONG = 1 << 12
"""``digests`` hashes this number of bytes of a value."""
_MIX = np.uint64(0x9E3779B97F4A7C15)
_FEW = 1000
"""Fewer entries keep their statistics, because copying the other columns costs more."""


class EntryHashes(NamedTuple):
    """What is remembered of the entries of a manifest: a hash of each identity and of each record; which are ADD."""

    identity: Numbers
    record: Numbers
    added: Mask


@dataclass(frozen=True, eq=False)
class CheckedEntries:
    """Entries in order; of many entries without column statistics, unless the check is deep."""

    columns: EntryColumns
    identity: Numbers
    """A hash of the values that a DELETE entry shares with its ADD entry (``ManifestEntry.identity``)."""
    record: Numbers
    """A hash of all values of an entry but its kind."""

    def __len__(self) -> int:
        return len(self.identity)

    @staticmethod
    def of(entries: Entries, *, whole: bool) -> CheckedEntries:
        """Return entries with their hashes; ``whole`` keeps the column statistics."""
        columns = EntryColumns.concat([entries])
        if not len(columns):
            return CheckedEntries(columns, np.zeros(0, np.int64), np.zeros(0, np.int64))
        hashes = {name: _hashes(columns, name) for name in columns.spans if name != "file_name"}
        identity = columns.name_digest.view(np.uint64)
        for part in (*(hashes[n] for n in _IDENTITY_SPANS), *(_number(columns, n) for n in ("bucket", "level"))):
            identity = _folded(identity, part)
        record = identity
        for name in sorted(columns.spans):
            if name in hashes and name not in _IDENTITY_SPANS:
                record = _folded(record, hashes[name])
        for name in sorted(columns.numbers):
            if name != "kind":
                record = _folded(record, _number(columns, name))
                record = _folded(record, columns.nulls[name].astype(np.uint64) if name in columns.nulls else _ZERO)
        if not whole and len(columns) >= _FEW:
            columns = columns.without_statistics().gathered(np.arange(len(columns)))
        return CheckedEntries(columns, identity.view(np.int64), record.view(np.int64))

    @staticmethod
    def concat(parts: Sequence[CheckedEntries]) -> CheckedEntries:
        """Return the entries of all parts, in order."""
        if len(parts) == 1:
            return parts[0]
        columns = EntryColumns.concat([p.columns for p in parts])
        none = np.zeros(0, np.int64)
        return CheckedEntries(
            columns,
            np.concatenate([none, *(p.identity for p in parts)]),
            np.concatenate([none, *(p.record for p in parts)]),
        )

    def filter(self, mask: Mask) -> CheckedEntries:
        """Return the entries for which the mask is true; few of many get data of their own."""
        if mask.all():
            return self
        at = np.flatnonzero(mask)
        few = 2 * len(at) < len(self)
        columns = self.columns.gathered(at) if few else self.columns.take(at)
        return CheckedEntries(columns, self.identity[at], self.record[at])

    @cached_property
    def added(self) -> Mask:
        """A mask of the ADD entries."""
        out: Mask = self.columns.numbers["kind"] == FileKind.ADD.value
        return out

    @cached_property
    def places(self) -> tuple[Numbers, list[Place]]:
        """(codes, places): the index of each entry's place, and the distinct places in order of first occurrence."""
        if not len(self):
            return np.zeros(0, np.int64), []
        code, partitions = self.columns.partition_codes()
        buckets, bucket = np.unique(self.columns.numbers["bucket"], return_inverse=True)
        _, first, group = np.unique(code * len(buckets) + bucket, return_index=True, return_inverse=True)
        order = np.argsort(first)
        numbers = np.empty(len(order), np.int64)
        numbers[order] = np.arange(len(order))
        at = first[order]
        names = [partitions[n] for n in code[at].tolist()]
        return numbers[group], list(zip(names, buckets[bucket[at]].tolist(), strict=True))

    @property
    def hashes(self) -> EntryHashes:
        """The hashes of the entries and the mask of the ADD entries."""
        return EntryHashes(self.identity, self.record, self.added)

    @property
    def what(self) -> Numbers:
        """A hash of what two entries of one file have in common: the place, size, number of rows and schema."""
        codes, partitions = self.columns.partition_codes()
        out = _of_values(partitions)[codes] if len(self) else np.zeros(0, np.uint64)
        for name in ("bucket", "file_size", "row_count", "schema_id"):
            out = _folded(out, _number(self.columns, name))
        return out.view(np.int64)

    def names(self, at: Indices) -> list[str]:
        """Return the names of the files at some positions."""
        return self.columns.column("file_name", at)

    def row_counts(self, at: Indices | slice = slice(None)) -> list[int]:
        """Return the numbers of rows of the files at some positions; Python sums of them do not overflow."""
        counts: list[int] = self.columns.numbers["row_count"][at].tolist()
        return counts


_ZERO = np.uint64(0)
_NULL = digests(PADDING, np.zeros(1, np.int64), np.full(1, -1))[0].view(np.uint64)[0]
"""The hash of null, which must be the same in manifests where all values of a column are null."""


def _folded(out: _Hashes, values: Any) -> _Hashes:
    out = (out ^ values) * _MIX
    out ^= out >> np.uint64(29)
    return out


def _number(columns: EntryColumns, name: str) -> _Hashes:
    return columns.numbers[name].astype(np.int64).view(np.uint64)


def _hashes(columns: EntryColumns, name: str) -> Any:
    """Return a hash of each value of a column of spans, or of all if they are null."""
    spans = columns.spans[name]
    if name == "partition":
        codes, values = columns.partition_codes()
        return _of_values(values)[codes]
    if name in _ARRAYS:  # two encodings of an array may differ
        codes, texts = columns.codes(name)
        at = np.zeros(len(texts), np.int64)
        at[codes[::-1]] = np.arange(len(codes))[::-1]
        return _of_values(columns.column(name, at))[codes]
    if int(spans.lengths.max(initial=-1)) < 0:
        return _NULL
    out = digests(columns.data, *spans)[0].view(np.uint64)
    long = np.flatnonzero(spans.lengths > _LONG)
    if len(long):
        out[long] = _of_values(columns.bytes_at(name, long))
    return out


def _of_values(values: Sequence[Any]) -> _Hashes:
    return np.array([hash(repr(value)) for value in values], np.int64).view(np.uint64)

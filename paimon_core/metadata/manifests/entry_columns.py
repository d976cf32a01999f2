"""EntryColumns: manifest entries as columns; Python values are created only for requested entries and values.

Numbers are numpy arrays. Texts, bytes and arrays are spans of the decompressed manifests, and are not copied. Columns
have the names of the members of ManifestEntry and DataFile; statistics are ``key_min_values``, ``value_null_counts``
etc.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from paimon_core.codec.avro.columns import PADDING, Mask, Numbers, Offsets
from paimon_core.codec.avro.digests import digests, rows_of
from paimon_core.codec.avro.items import encode_items, nullable_numbers, numbers_of, texts_of
from paimon_core.metadata.column_stats import ColumnStats
from paimon_core.metadata.data_file import DataFile, FileSource
from paimon_core.metadata.manifests.constant_columns import joined, memory_of, shared, taken
from paimon_core.metadata.manifests.entries import FileKind, ManifestEntry
from paimon_core.metadata.manifests.gc_pause import gc_paused
from paimon_core.metadata.manifests.manifest_file import merge_entries

Indices = npt.NDArray[np.intp] | npt.NDArray[np.int64]

_ENTRY_NUMBERS = ("kind", "bucket", "total_buckets")
_FILE_NUMBERS = ("file_size", "row_count", "schema_id", "level", "min_sequence_number", "max_sequence_number")
_NULLABLE_NUMBERS = ("creation_time_millis", "delete_row_count", "file_source", "first_row_id")
_TEXTS = ("file_name", "external_path")
_BYTES = ("partition", "min_key", "max_key", "embedded_index")
_ARRAYS: dict[str, Callable[[bytes], tuple[Any, ...]]] = {
    "key_null_counts": nullable_numbers,
    "value_null_counts": nullable_numbers,
    "extra_files": texts_of,
    "value_stats_cols": texts_of,
    "write_cols": texts_of,
    "write_cols_sequences": numbers_of,
}
_COMPARED = 64
"""If all values of a column have the same length, up to this many bytes, each is compared with the value before it.

Entries are often ordered by partition: a run of equal values is then looked up only once.
"""
_KINDS = {kind.value: kind for kind in FileKind}
_SOURCES: dict[int | None, FileSource | None] = {None: None, **{source.value: source for source in FileSource}}


class Spans(NamedTuple):
    """The positions of values in the data: the start and the length of each value; a length of -1 means that the value
    is null.
    """

    starts: Offsets
    lengths: Offsets


_STATISTICS = tuple(f"{of}_{n}" for of in ("key", "value") for n in ("min_values", "max_values", "null_counts"))


@dataclass(frozen=True, eq=False)
class EntryColumns:
    """The entries of one or more manifests, in order."""

    data: bytes
    """The bytes that the spans refer to, followed by ``PADDING``."""
    numbers: Mapping[str, Numbers]
    """The columns of numbers; 0 for null."""
    nulls: Mapping[str, Mask]
    """For each column of numbers that has nulls: which of its values are null."""
    spans: Mapping[str, Spans]
    """The columns of texts, bytes, and arrays in their Avro encoding."""
    name_digest: Numbers
    """A hash of each file name."""

    def __len__(self) -> int:
        return len(self.name_digest)

    @property
    def nbytes(self) -> int:
        """The memory of the columns and of the data, in bytes."""
        columns = [*self.numbers.values(), *self.nulls.values(), self.name_digest]
        return len(self.data) + sum(map(memory_of, [*columns, *(c for span in self.spans.values() for c in span)]))

    @cached_property
    def buffer(self) -> npt.NDArray[np.uint8]:
        """The data as an array."""
        return np.frombuffer(self.data, np.uint8)

    def filter(self, mask: Mask) -> EntryColumns:
        """Return the entries for which the mask is true; the data is shared, not copied."""
        return self if mask.all() else self.take(np.flatnonzero(mask))

    def take(self, at: Indices | slice) -> EntryColumns:
        """Return the entries at the given positions.

        The result shares the data with this object; for a slice, it shares the columns too.
        """
        return replace(
            self,
            numbers={name: taken(column, at) for name, column in self.numbers.items()},
            nulls={name: taken(column, at) for name, column in self.nulls.items()},
            spans={name: Spans(taken(s.starts, at), taken(s.lengths, at)) for name, s in self.spans.items()},
            name_digest=self.name_digest[at],
        )

    @staticmethod
    def concat(of: Sequence[Entries]) -> EntryColumns:
        """Return all entries of the parts, in order; the data is copied if several parts have entries."""
        parts: list[EntryColumns] = []
        for are_columns, some in groupby((part for part in of if len(part)), lambda p: isinstance(p, EntryColumns)):
            if are_columns:
                parts += (part for part in some if isinstance(part, EntryColumns))
            else:
                parts.append(EntryColumns.of_entries([e for part in some for e in values_of(part)]))
        if len(parts) <= 1:
            return parts[0] if parts else EntryColumns.of_entries([])
        data = b"".join(part.data for part in parts)
        wide: Any = np.int64 if len(data) > np.iinfo(np.int32).max else np.int32
        bases = [0, *np.cumsum([len(part.data) for part in parts[:-1]]).tolist()]

        def together(column: Callable[[EntryColumns], npt.NDArray[Any]]) -> npt.NDArray[Any]:
            return joined([column(part) for part in parts])

        def spans(name: str) -> Spans:
            lengths = together(lambda part: part.spans[name].lengths)
            if int(lengths[0]) < 0 and memory_of(lengths) < 16:  # all are null
                return Spans(lengths, lengths)
            starts = [
                part.spans[name].starts.astype(wide) + wide(base) for part, base in zip(parts, bases, strict=True)
            ]
            return Spans(np.concatenate(starts), lengths)

        def nulls(name: str) -> Mask:
            return together(lambda part: part.nulls.get(name, np.zeros(len(part), bool)))

        with_nulls = {name for part in parts for name in part.nulls}
        return EntryColumns(
            data,
            {name: together(lambda part, name=name: part.numbers[name]) for name in parts[0].numbers},  # type: ignore[misc]
            {name: nulls(name) for name in sorted(with_nulls)},
            {name: spans(name) for name in parts[0].spans},
            np.concatenate([part.name_digest for part in parts]),
        )

    def gathered(self, at: Indices) -> EntryColumns:
        """Return a copy of the entries at the given positions, with only their own data: for few of many entries."""
        some = self.take(at)
        spans: dict[str, Spans] = {}
        parts: list[bytes] = []
        size = 0
        most = sum(int(np.maximum(lengths, 0).sum(dtype=np.int64)) for _, lengths in some.spans.values())
        kind: Any = np.int32 if most <= np.iinfo(np.int32).max else np.int64
        for name, (_, lengths) in some.spans.items():
            if int(lengths.max(initial=-1)) < 0:  # all are null
                spans[name] = Spans(lengths, lengths)
                continue
            ends = size + np.cumsum(np.maximum(lengths, 0), dtype=np.int64)
            spans[name] = Spans((ends - np.maximum(lengths, 0)).astype(kind), lengths)
            if size == (size := int(ends[-1])):
                continue
            parts.append(some.joined_bytes(name))
        return replace(some, data=b"".join((*parts, PADDING)), spans=spans)

    def without_statistics(self) -> EntryColumns:
        """Return the entries with null as their column statistics; the data is shared, not copied."""
        missing = shared(np.full(len(self), -1))
        spans = {name: Spans(missing, missing) if name in _STATISTICS else s for name, s in self.spans.items()}
        return replace(self, spans=spans)

    def bytes_at(self, name: str, at: Indices | slice = slice(None)) -> list[Any]:
        """Return the bytes of a column of spans at the given positions, None for null; arrays in Avro form."""
        starts, lengths = (column[at] for column in self.spans[name])
        data = self.data
        ends = (starts + lengths).tolist()
        if len(lengths) and int(lengths.min()) < 0:
            return [
                None if n < 0 else data[a:b] for a, b, n in zip(starts.tolist(), ends, lengths.tolist(), strict=True)
            ]
        return [data[a:b] for a, b in zip(starts.tolist(), ends, strict=True)]

    def joined_bytes(self, name: str, at: Indices | slice = slice(None)) -> bytes:
        """Return the bytes of a column of spans at the given positions, joined; nulls have none."""
        starts, lengths = (column[at] for column in self.spans[name])
        width = int(lengths[0]) if len(lengths) and (lengths == lengths[0]).all() else 0
        rows = (some.tobytes() for _, some in rows_of(self.data, starts, width)) if width > 0 else ()
        return b"".join(filter(None, rows if width > 0 else self.bytes_at(name, at)))

    def column(self, name: str, at: Indices | slice = slice(None)) -> list[Any]:
        """Return the values of a column at the given positions as in ManifestEntry: numbers, texts, bytes, tuples."""
        if name in self.numbers:
            values: list[Any] = self.numbers[name][at].tolist()
            if name in self.nulls:
                for row in np.flatnonzero(self.nulls[name][at]).tolist():
                    values[row] = None
            return values
        found = self.bytes_at(name, at)
        if name in _TEXTS:
            return [None if text is None else text.decode() for text in found]
        if name not in _ARRAYS:
            return found
        decode = _ARRAYS[name]
        known: dict[bytes | None, Any] = {text: None if text is None else decode(text) for text in set(found)}
        if name.endswith("null_counts"):
            known[None] = ()
        return [known[text] for text in found]

    def codes(self, name: str) -> tuple[Numbers, list[Any]]:
        """Return (codes, values): for each entry the index of its value in ``values``, and the distinct values.

        Values are in the order of their first occurrence.
        """
        if int(self.spans[name].lengths.max(initial=-1)) < 0:  # all are null
            return np.zeros(len(self), np.int64), [None] * min(len(self), 1)
        known: dict[Any, int] = {}
        first = self._changes(name)
        found = [known.setdefault(text, len(known)) for text in self.bytes_at(name, first)]
        runs = np.diff(first, append=len(self))
        return np.repeat(np.array(found, np.int64), runs), list(known)

    def _changes(self, name: str) -> Indices:
        """Return the positions of entries whose bytes in a column may differ from the bytes of the previous entry."""
        starts, lengths = self.spans[name]
        most = int(lengths.max())
        if most > _COMPARED or int(lengths.min()) != most:
            return np.arange(len(self))
        change = np.zeros(len(self), bool)
        change[0] = True
        for first, rows in rows_of(self.data, starts, most) if most else ():
            change[first] = True
            change[first + 1 : first + len(rows)] = (rows[1:] != rows[:-1]).any(axis=1)
        return np.flatnonzero(change)

    @cached_property
    def _partition_codes(self) -> tuple[Numbers, list[bytes]]:
        return self.codes("partition")

    def partition_codes(self) -> tuple[Numbers, list[bytes]]:
        """Return (codes, partitions): for each entry the index of its partition, and the distinct partitions."""
        return self._partition_codes

    def of_partitions(self, chosen: Callable[[bytes], bool]) -> EntryColumns:
        """Return the entries of the partitions for which ``chosen``, called once per partition, returns True."""
        codes, partitions = self.partition_codes()
        return self.filter(np.array([chosen(partition) for partition in partitions], bool)[codes])

    def names_with(self, text: bytes) -> Mask:
        """Return a mask of the entries whose file name contains a text."""
        if text not in self.data:
            return np.zeros(len(self), bool)
        return np.fromiter((text in name for name in self.bytes_at("file_name")), bool, len(self))

    def names_ending(self, text: bytes) -> Mask:
        """Return a mask of the entries whose file name ends with a text."""
        starts, lengths = self.spans["file_name"]
        out: Mask = lengths >= len(text)
        for offset, byte in enumerate(text):
            some = np.flatnonzero(out)
            out[some] = self.buffer[starts[some] + lengths[some] - len(text) + offset] == byte
        return out

    def entries(self, at: Indices | slice = slice(None)) -> list[ManifestEntry]:
        """Return the entries at the given positions as ``ManifestEntry`` values."""
        with gc_paused():
            column = self.column

            def stats(of: str) -> Iterable[ColumnStats]:
                return map(ColumnStats, *(column(f"{of}_{n}", at) for n in ("min_values", "max_values", "null_counts")))

            files = map(
                DataFile,
                column("file_name", at),
                column("file_size", at),
                column("row_count", at),
                column("schema_id", at),
                column("level", at),
                column("min_key", at),
                column("max_key", at),
                stats("key"),
                stats("value"),
                column("min_sequence_number", at),
                column("max_sequence_number", at),
                column("extra_files", at),
                column("creation_time_millis", at),
                column("delete_row_count", at),
                column("embedded_index", at),
                [_SOURCES[source] for source in column("file_source", at)],
                column("value_stats_cols", at),
                column("external_path", at),
                column("first_row_id", at),
                column("write_cols", at),
                column("write_cols_sequences", at),
            )
            kinds = [_KINDS[kind] for kind in column("kind", at)]
            each = (column(name, at) for name in ("partition", "bucket", "total_buckets"))
            return list(map(ManifestEntry, kinds, *each, files))

    @staticmethod
    def of_entries(entries: Sequence[ManifestEntry]) -> EntryColumns:
        """Return the columns of ``ManifestEntry`` values."""
        texts: dict[str, list[bytes | None]] = {
            "partition": [e.partition for e in entries],
            **{name: [getattr(e.file, name) for e in entries] for name in _BYTES[1:]},
            **{
                f"{of}_{n}": [getattr(getattr(e.file, f"{of}_stats"), n) for e in entries]
                for of in ("key", "value")
                for n in ("min_values", "max_values")
            },
            "file_name": [e.file.file_name.encode() for e in entries],
            "external_path": [None if e.file.external_path is None else e.file.external_path.encode() for e in entries],
        }
        for name, decode in _ARRAYS.items():
            of, _, member = name.partition("_")
            known: dict[Any, bytes | None] = {None: None}
            column = []
            for e in entries:
                items = (
                    getattr(getattr(e.file, f"{of}_stats"), member)
                    if member == "null_counts"
                    else getattr(e.file, name)
                )
                if items not in known:
                    known[items] = encode_items(items, nullable=decode is nullable_numbers)
                column.append(known[items])
            texts[name] = column
        numbers: dict[str, Any] = {name: [getattr(e, name) for e in entries] for name in _ENTRY_NUMBERS}
        numbers |= {name: [getattr(e.file, name) for e in entries] for name in (*_FILE_NUMBERS, *_NULLABLE_NUMBERS)}
        nulls = {name: np.array([v is None for v in numbers[name]], bool) for name in _NULLABLE_NUMBERS}
        spans: dict[str, Spans] = {}
        data: list[bytes] = []
        size = 0
        for name, column in texts.items():
            lengths = np.array([-1 if text is None else len(text) for text in column], np.int64)
            ends = size + np.cumsum(np.maximum(lengths, 0))
            spans[name] = Spans(ends - np.maximum(lengths, 0), lengths)
            data += [text for text in column if text is not None]
            size = int(ends[-1]) if len(ends) else size
        joined = b"".join((*data, PADDING))
        return EntryColumns(
            joined,
            {name: np.array([v or 0 for v in column], np.int64) for name, column in numbers.items()},
            {name: mask for name, mask in nulls.items() if mask.any()},
            spans,
            digests(joined, *spans["file_name"])[0],
        )


Entries = EntryColumns | tuple[ManifestEntry, ...]
"""The entries of one manifest: as columns, or as ``ManifestEntry`` values when there are few entries."""


def values_of(entries: Entries) -> Sequence[ManifestEntry]:
    """Return entries as ``ManifestEntry`` values."""
    return entries.entries() if isinstance(entries, EntryColumns) else entries


def live(columns: EntryColumns) -> Mask:
    """Return a mask of the ADD entries that no DELETE entry cancels, as ``live_entries`` does for values (format 4.6).

    Raises CorruptTable for an ADD entry whose identity is already present.
    """
    added: Mask = columns.numbers["kind"] == FileKind.ADD.value
    order = np.argsort(columns.name_digest)
    same = np.zeros(len(order), bool)
    digest = columns.name_digest[order]
    same[1:] = digest[1:] == digest[:-1]
    same[:-1] |= same[1:]
    if not same.any():
        return added
    repeated = np.sort(order[same])
    added[repeated] = False
    present: dict[tuple[Any, ...], tuple[int, bool]] = {}
    each = zip(
        columns.column("kind", repeated),
        repeated.tolist(),
        zip(*(columns.column(name, repeated) for name in _identity(columns, repeated)), strict=True),
        strict=True,
    )
    for kind, row, identity in each:
        if kind == FileKind.ADD.value:
            if identity in present:
                merge_entries(columns.entries(np.array([present[identity][0], row])))  # raises
            present[identity] = row, True
        elif present.pop(identity, None) is None:
            present[identity] = row, False
    added[[row for row, is_add in present.values() if is_add]] = True
    return added


def _identity(columns: EntryColumns, at: Indices) -> list[str]:
    """Return the names of the columns that identify a file, to compare the entries at ``at``.

    A seldom used column is left out if all these entries have the same value in it.
    """
    seldom = ("extra_files", "embedded_index", "external_path")
    return ["file_name", "partition", "bucket", "level", *(n for n in seldom if len(set(columns.bytes_at(n, at))) > 1)]

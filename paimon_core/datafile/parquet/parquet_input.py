"""ParquetInput: the FileInput for Parquet (format 7.7), which decodes a file as batches of Arrow arrays by column name.

The memory of a read is one batch, whose rows and bytes the caller limits, and for each column one page and
``column_readers.BUFFER_BYTES`` bytes of the file. Arrays have the types of the file, except INT96 columns, which have
the wanted type.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Unpack

import pyarrow as pa
import pyarrow.parquet as pq

from paimon_core.arrow.byte_budget import cut
from paimon_core.codec.parquet.page_checks import Pages, checked_bytes, read_pages, rows_of
from paimon_core.codec.parquet.raw_footer import TAIL_BYTES
from paimon_core.codec.parquet.thrift import parse_struct
from paimon_core.datafile.file_format import Arrays, BatchBounds, ColumnRange, NearBatches, counted_batches
from paimon_core.datafile.parquet.checked_footer import KnownFooter, read_checked
from paimon_core.datafile.parquet.column_readers import column_readers, decoded_batches, opened
from paimon_core.datafile.parquet.footer import int96_as_bytes, repeating_texts
from paimon_core.datafile.parquet.int96 import without_int96
from paimon_core.datafile.parquet.near_rows import near_rows
from paimon_core.datafile.parquet.optional_map_keys import as_maps, maps_as_lists, open_metadata
from paimon_core.datafile.parquet.stored_bounds import stored_value
from paimon_core.storage.object_stores.remote_file import RemoteInput
from paimon_core.types import STRING_ROOTS, DataType

ONE_ROUND_BYTES = 8 << 20
"""Columns of a remote file with at most this many bytes together are requested before a filter is tested.

A store needs about as long to send them as to answer another request.
"""
SMALL_FILE = TAIL_BYTES
"""A file of at most this number of bytes is read with one call and then decoded from memory."""
FEW_VALUES = 1 << 16
"""At most this number of values is decoded in the calling thread: handing columns to other threads takes longer."""
_FEW_BYTES = 1 << 20
"""Rows that take at most this number of bytes in memory are one batch, and no text column is a dictionary."""
_MANY_ROWS = 1 << 16
"""The minimum number of rows of a file whose text columns are checked for repeated values."""
_WORST = 4
"""The maximum size of a batch, in multiples of ``batch_bytes``, if each text is the longest of its dictionary."""


class ParquetInput:
    """The FileInput for Parquet."""

    reads_members = True

    def __init__(self, source: pa.NativeFile, known: KnownFooter | None = None) -> None:
        """``known``: the verified footer of ``source``, which is then in memory and stays open."""
        size = source.size()
        self._plain: pq.ParquetFile | None = None
        if size <= SMALL_FILE and known is None:
            # The caller may close its source, also one in memory, before the file is decoded.
            source = pa.BufferReader(source.read_at(size, 0))
        self._source = source
        self._near: tuple[int, tuple[str, ...], dict[int, Pages]] | None = None
        """The row group, the columns and the pages of the last ``near_batches``."""
        self._footer = read_checked(source, self._opened_metadata if size <= SMALL_FILE else open_metadata, known)
        self.schema = self._footer.schema.arrow
        self.row_count: int | None = self._footer.metadata.num_rows

    def _opened_metadata(self, raw: bytes) -> tuple[pq.FileMetaData, bool]:
        """Return ``open_metadata`` of the verified footer of a file in memory, and keep the reader for the batches."""
        try:
            self._plain = opened(self._source)
        except pa.ArrowInvalid:
            return open_metadata(raw)
        return self._plain.metadata, False

    @property
    def row_group_rows(self) -> Sequence[int]:
        """The number of rows of each row group, as the footer states."""
        return [group.rows for group in self._footer.row_groups]

    def bounds(self, column: str, dtype: DataType) -> Sequence[ColumnRange]:
        """Return the statistics in the footer, as storage values."""
        return [
            (stored_value(low, dtype), stored_value(high, dtype), nulls)
            for low, high, nulls in self._footer.bounds(column)
        ]

    def batches(
        self,
        wanted: Mapping[str, DataType],
        row_groups: list[int] | None,
        *,
        batch_rows: int,
        batch_bytes: int,
        use_threads: bool,
    ) -> Iterator[tuple[int, Arrays]]:
        """Yield batches, with fewer rows than ``batch_rows`` if the pages may contain very long values.

        Texts may be dictionary arrays. Raises UnsupportedFeature, which names the column, for an INT96 out of range or
        a null map key, and Arrow's errors for bytes that do not decode.
        """
        metadata = self._footer.metadata
        if not wanted:
            yield from counted_batches(metadata.num_rows, batch_rows)
            return
        int96 = self._footer.schema.has_int96
        maps_are_lists = self._footer.maps_are_lists
        groups = list(range(metadata.num_row_groups)) if row_groups is None else row_groups
        rows, repeating = self._sizes(wanted, groups, self._pages(groups, wanted), batch_rows, batch_bytes)
        threads = use_threads and metadata.num_rows * len(wanted) > FEW_VALUES
        read = metadata if not int96 else _as_bytes(self._footer.raw, maps_are_lists=maps_are_lists)
        # Only the first caller gets the reader that is open: the batches of a reader have the size of its last caller.
        plain, self._plain = None if int96 or maps_are_lists else self._plain, None
        readers = column_readers(self._source, read, self.schema, wanted, repeating, plain)
        for some, together in _steps(groups, rows, apart=isinstance(self._source, RemoteInput)):
            self._will_read(together, wanted)
            for decoded in decoded_batches(readers, together, some, use_threads=threads):
                for batch in cut(decoded, batch_bytes) if repeating else (decoded,):
                    # Arrow takes the column ``a.b`` for a member of ``a``, and decodes both.
                    arrays = {
                        n: array for n, array in zip(batch.schema.names, batch.columns, strict=True) if n in wanted
                    }
                    if maps_are_lists:
                        arrays = {name: as_maps(array, name) for name, array in arrays.items()}
                    if int96:
                        arrays = {name: without_int96(array, wanted[name], name) for name, array in arrays.items()}
                    yield len(batch), arrays

    def near_batches(
        self, wanted: Mapping[str, DataType], row_group: int, start: int, end: int, **bounds: Unpack[BatchBounds]
    ) -> NearBatches | None:
        """Return batches of the pages that have the rows; None for remote files, few values, and as ``near_rows``."""
        checked = self._footer
        if isinstance(self._source, RemoteInput) or checked.schema.has_int96 or checked.maps_are_lists:
            return None
        if checked.row_groups[row_group].rows * len(wanted) <= FEW_VALUES:
            return None
        if self._near is None or self._near[:2] != (row_group, tuple(wanted)):
            self._near = row_group, tuple(wanted), self._pages([row_group], wanted)[0]
        pages = self._near[2]
        found = near_rows(self._source, checked.raw, row_group, checked.row_groups[row_group], pages, start, end)
        if found is None:
            return None
        batch_bytes = bounds["batch_bytes"]
        (rows,), repeating = self._sizes(wanted, [row_group], [pages], bounds["batch_rows"], batch_bytes)
        readers = column_readers(found.source, found.metadata, self.schema, wanted, repeating)
        threads = bounds["use_threads"] and found.metadata.num_rows * len(wanted) > FEW_VALUES
        decoded = decoded_batches(readers, [0], rows, use_threads=threads)
        batches = (
            (len(batch), {name: batch.column(name) for name in batch.schema.names if name in wanted})
            for whole in decoded
            for batch in (cut(whole, batch_bytes) if repeating else (whole,))
        )
        return found.first, found.last, batches

    def _pages(self, groups: Sequence[int], wanted: Collection[str]) -> list[dict[int, Pages]]:
        self._will_read(groups[1:], wanted, heads=True)
        self._will_read(groups[:1], wanted)
        return [read_pages(self._source, self._footer.row_groups[at], wanted) for at in groups]

    def will_read(self, wanted: Collection[str], row_groups: list[int] | None) -> None:
        """Request the columns ``wanted`` of row groups (None: all) of a remote file, if they are small, in one round.

        For reads that decode first some of these columns, and then the others.
        """
        if isinstance(self._source, RemoteInput):
            groups = range(len(self._footer.row_groups)) if row_groups is None else row_groups
            if sum(size for _, size in self._chunks(groups, wanted)) <= ONE_ROUND_BYTES:
                self._will_read(groups, wanted)

    def _will_read(self, groups: Sequence[int], wanted: Collection[str], *, heads: bool = False) -> None:
        """Request columns of row groups of a remote file at the same time; ``heads``: the bytes that are checked."""
        if isinstance(self._source, RemoteInput):
            chunks = self._chunks(groups, wanted)
            self._source.will_read(
                [(start, start + (checked_bytes(size) if heads else size)) for start, size in chunks]
            )

    def _chunks(self, groups: Sequence[int], wanted: Collection[str]) -> Iterator[tuple[int, int]]:
        """Yield the position and the size of each column chunk."""
        names = {name.encode() for name in wanted}
        for group in map(self._footer.row_groups.__getitem__, groups):
            yield from ((group.chunks[at].start, group.chunks[at].size) for at in group.chunks_of(names))

    def _sizes(
        self,
        wanted: Mapping[str, DataType],
        groups: Sequence[int],
        pages: Sequence[Mapping[int, Pages]],
        batch_rows: int,
        batch_bytes: int,
    ) -> tuple[list[int], set[str]]:
        """Return the number of rows of a batch for each row group, and the text columns to read as dictionaries.

        ``pages``: the pages of the columns in each row group.
        """
        source, checked, metadata = self._source, self._footer, self._footer.metadata
        if metadata.num_rows <= batch_rows and _bytes_at_most(pages) <= min(batch_bytes, _FEW_BYTES):
            return [batch_rows] * len(groups), set()
        sizes = checked.sizes.with_dictionaries(groups, pages)
        rows = sizes.batch_rows(wanted, groups, batch_bytes, batch_rows)
        most = _WORST * batch_bytes
        leaves = {sizes.leaves[name][0]: name for name, dtype in wanted.items() if dtype.root in STRING_ROOTS}
        repeating = set(sizes.repeating(leaves.values(), groups))
        if leaves and metadata.num_rows >= _MANY_ROWS:
            repeating.update(repeating_texts(metadata, list(leaves.values())))
        repeating = _as_dictionaries(repeating, leaves, pages, min(max(rows, default=1), metadata.num_rows), most)
        for at, (group, found) in enumerate(zip(groups, pages, strict=True)):
            direct = {leaf: p for leaf, p in found.items() if leaves.get(leaf) not in repeating}
            rows[at] = rows_of(source, checked.row_groups[group], direct, most, rows[at])
        return rows, repeating


def _bytes_at_most(pages: Sequence[Mapping[int, Pages]]) -> int:
    """Return the bytes that the columns take in memory if each text is as long as all texts of its dictionary.

    If not all headers were read, the bytes are not known and a large number is returned.
    """
    chunks = [found for group in pages for found in group.values()]
    if not all(found.is_whole for found in chunks):
        return 1 << 62
    return sum(found.chunk.values * (found.value_bytes + found.texts) for found in chunks)


def _as_dictionaries(
    repeating: set[str], leaves: Mapping[int, str], pages: Sequence[Mapping[int, Pages]], rows: int, most: int
) -> set[str]:
    """Return the text columns to read as dictionaries: their texts repeat, or may take ``most`` bytes in ``rows`` rows.

    Arrow cannot read pages with prefixes as dictionaries.
    """
    known = [(leaves[at], found) for group in pages for at, found in group.items() if at in leaves]
    long = {name for name, found in known if found.texts * rows > most}
    return (repeating | long) - {name for name, found in known if not found.is_plain}


def _steps(groups: Sequence[int], rows: Sequence[int], *, apart: bool) -> Iterator[tuple[int, list[int]]]:
    """Yield (batch size in rows, row groups to decode with this size); ``apart``: each row group alone.

    Sizes of adjacent row groups that differ by at most a factor of 2 become one size, the smallest of them.
    """
    if apart:
        yield from ((some, [group]) for group, some in zip(groups, rows, strict=True))
        return
    together: list[int] = []
    least = most = 0
    for group, some in zip(groups, rows, strict=True):
        if together and max(most, some) > 2 * min(least, some):
            yield least, together
            together = []
        least, most = (min(least, some), max(most, some)) if together else (some, some)
        together.append(group)
    if together:
        yield least, together


def _as_bytes(raw_footer: bytes, *, maps_are_lists: bool) -> pq.FileMetaData:
    tree = parse_struct(raw_footer)
    if maps_are_lists:
        maps_as_lists(tree)
    return int96_as_bytes(tree)

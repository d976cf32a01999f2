"""Near rows: a file in memory with the pages of some rows of a row group, so that other pages are not decoded.

Arrow does not skip pages. So the pages with the wanted rows are copied, behind the dictionary of their column, and the
footer is changed to state only these rows. All columns must have a page boundary at the first and the last of the rows;
writers of Parquet start a page after a number of rows, which is then the same in all columns. The headers of all pages
of the columns have been checked before, and Arrow verifies the checksums of the pages that it decodes.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from paimon_core.codec.parquet.footer_checks import RowGroup
from paimon_core.codec.parquet.page_checks import Pages
from paimon_core.codec.parquet.thrift import I64, Struct, parse_struct
from paimon_core.datafile.parquet.footer import as_metadata

MOST_BYTES = 8 << 20
"""The maximum packed bytes of the pages that are copied to memory."""
_MAGIC = b"PAR1"
# The field ids of format/parquet.thrift.
_ROWS, _ROW_GROUPS, _GROUP_COLUMNS, _GROUP_ROWS = 3, 4, 1, 3
_CHUNK_POSITION, _CHUNK_METADATA, _CHUNK_INDEXES = 2, 3, (4, 5, 6, 7)
_VALUES, _PACKED_SIZE, _DATA_AT, _DICTIONARY_AT = 5, 7, 9, 11
_OF_THE_WHOLE_CHUNK = (10, 12, 13, 14, 15, 16)
"""Fields that are not true for some of the pages, such as statistics."""


class NearRows(NamedTuple):
    """A file in memory, its footer, and the rows of the row group that it contains: from ``first`` up to ``last``."""

    source: pa.BufferReader
    metadata: pq.FileMetaData
    first: int
    last: int


def near_rows(
    source: pa.NativeFile, footer: bytes, number: int, group: RowGroup, pages: Mapping[int, Pages], start: int, end: int
) -> NearRows | None:
    """Return the columns whose ``pages`` are given of rows of row group ``number`` that include ``start`` to ``end``.

    ``footer`` is the verified footer. Returns None if a column is nested, all pages or more than ``MOST_BYTES`` of them
    would be copied, or not all headers are known.
    """
    if not pages or not all(_is_plain(found, group.rows) for found in pages.values()):
        return None
    firsts = {at: [first for first, _ in p.places] for at, p in pages.items()}
    shared = sorted(set.intersection(*map(set, firsts.values())) | {group.rows})
    first, last = shared[bisect_right(shared, start) - 1], shared[bisect_left(shared, end)]
    if not first < last or last - first == group.rows:
        return None
    copied: dict[int, tuple[int, int]] = {}
    for at, found in pages.items():
        ends = [*(position for _, position in found.places), found.chunk.start + found.chunk.size]
        copied[at] = ends[bisect_left(firsts[at], first)], ends[bisect_left(firsts[at], last)]
    if sum(pages[at].head + after - before for at, (before, after) in copied.items()) > MOST_BYTES:
        return None
    parts = [_MAGIC]
    sizes: dict[int, tuple[int, int]] = {}
    for at, (before, after) in copied.items():
        head = pages[at].head
        parts += [source.read_at(head, pages[at].chunk.start) if head else b"", source.read_at(after - before, before)]
        sizes[at] = head, after - before
    return NearRows(
        pa.BufferReader(b"".join(parts)), as_metadata(_changed(footer, number, last - first, sizes)), first, last
    )


def _is_plain(pages: Pages, rows: int) -> bool:
    """Whether all pages are known, a value is a row, and the data follows the dictionary."""
    chunk = pages.chunk
    if not pages.is_whole or not pages.places or chunk.leaf.repetition or chunk.values != rows:
        return False
    return pages.places[0][1] == chunk.start + pages.head


def _changed(footer: bytes, number: int, rows: int, sizes: Mapping[int, tuple[int, int]]) -> Struct:
    """Return the footer with only one row group of ``rows`` rows.

    ``sizes``: the bytes of the dictionary and of the data pages of each chunk, which are in this order in the file. The
    other chunks are not in the file, and are not read.
    """
    tree = parse_struct(footer)
    kind, (item, groups) = tree[_ROW_GROUPS]
    group = groups[number]
    tree[_ROW_GROUPS] = kind, (item, [group])
    tree[_ROWS] = group[_GROUP_ROWS] = I64, rows
    for chunk in group[_GROUP_COLUMNS][1][1]:
        metadata = chunk[_CHUNK_METADATA][1]
        for name in _CHUNK_INDEXES:
            chunk.pop(name, None)
        for name in (*_OF_THE_WHOLE_CHUNK, _DICTIONARY_AT):
            metadata.pop(name, None)
    position = len(_MAGIC)
    for at, (head, data) in sizes.items():
        chunk = group[_GROUP_COLUMNS][1][1][at]
        metadata = chunk[_CHUNK_METADATA][1]
        chunk[_CHUNK_POSITION] = I64, position
        metadata[_VALUES] = I64, rows
        metadata[_PACKED_SIZE] = I64, head + data
        metadata[_DATA_AT] = I64, position + head
        if head:
            metadata[_DICTIONARY_AT] = I64, position
        position += head + data
    return tree

"""Page checks: computes from the headers of pages how many rows of a Parquet file may be decoded at a time.

A page of a few bytes may unpack to 2 GB, and a long text of a dictionary may be repeated in each row. The footer does
not show this. So all page headers are read before Arrow reads a column chunk. In an object store, only the first header
of a chunk of more than ``_REMOTE_CHECKED_BYTES`` packed bytes is read.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from struct import Struct
from typing import NamedTuple

import pyarrow as pa

from paimon_core.codec.avro.block_codecs import CODECS
from paimon_core.codec.parquet.footer_checks import Chunk, RowGroup
from paimon_core.codec.parquet.page_headers import DATA, DATA_V2, DICTIONARY, Page, page_header
from paimon_core.limits import PAGE_BYTES, PAGE_RATIO, ROW_VALUES, VALUES_PER_PACKED_BYTE

_REMOTE_CHECKED_BYTES = 1 << 18
"""In an object store, all page headers are read only for chunks of at most this number of packed bytes.

Reading a header may take a request to the store.
"""
_HEAD_BYTES = 1 << 9
"""The number of bytes that are first read for a page header; texts in its statistics may make the header longer."""
_LENGTH_BYTES = 4
_LENGTH = Struct("<I").unpack_from
_NUMBER_BYTES = 16
"""The maximum size in bytes of a number in memory, with its levels."""
_TEXT, _FIXED = 6, 7
_PLAIN, _PREFIXED, _INDEXES = 0, 7, (2, 8)
"""The encodings of texts: plain, with a prefix of the previous text, and as indexes in a dictionary."""
_ZSTD = 6
_CODECS = {1: "snappy", 2: "gzip", 4: "brotli", 7: "lz4_raw"}


class Pages(NamedTuple):
    """The facts that the page headers of a column chunk state."""

    chunk: Chunk
    largest: int
    """The unpacked bytes of the largest page."""
    value_bytes: int
    """The mean bytes of a value in the page with the largest mean, without the bytes of the dictionary."""
    dictionary: tuple[int, Page] | None
    """The position of the packed bytes of a dictionary of texts, and its header."""
    is_plain: bool
    """Whether all pages of texts are plain or indexes in the dictionary, which Arrow can decode as a dictionary."""
    is_whole: bool = True
    """Whether all headers were read; False: only the first header."""
    head: int = 0
    """The bytes of the dictionary page and its header at the start of the chunk; 0 if the chunk has none there."""
    places: Sequence[tuple[int, int]] = ()
    """For each data page: the number of its first value, and the position of its header."""

    @property
    def texts(self) -> int:
        """The bytes of all texts of the dictionary; 0 if not all headers were read."""
        if self.dictionary is None or not self.is_whole:
            return 0
        _, page = self.dictionary
        return max(0, page.unpacked - _LENGTH_BYTES * page.values)


def read_pages(source: pa.NativeFile, group: RowGroup, wanted: Collection[str]) -> dict[int, Pages]:
    """Return a dict from the number of a chunk of the columns ``wanted`` to its pages; empty chunks are left out.

    Raises ValueError for pages that do not match the footer; if the largest pages of the columns together unpack to
    more than PAGE_BYTES and to more than PAGE_RATIO times the packed bytes; and for a nested column with more values
    than ROW_VALUES and more than VALUES_PER_PACKED_BYTE per packed byte.
    """
    names = {name.encode() for name in wanted}
    is_remote = isinstance(source, pa.PythonFile)
    found = {
        number: _checked(source, chunk, group.rows, whole=not is_remote or chunk.size <= _REMOTE_CHECKED_BYTES)
        for number, chunk in ((number, group.chunks[number]) for number in group.chunks_of(names))
        if chunk.values
    }
    unpacked = sum(pages.largest for pages in found.values())
    if unpacked > PAGE_BYTES:
        packed = sum(pages.chunk.size for pages in found.values())
        if unpacked > PAGE_RATIO * packed:
            raise ValueError(f"its pages unpack from {packed} to {unpacked} bytes: the limit is {PAGE_BYTES}")
    return found


def checked_bytes(size: int) -> int:
    """Return how many bytes of a column chunk of ``size`` bytes ``read_pages`` needs if the file is remote."""
    return size if size <= _REMOTE_CHECKED_BYTES else _HEAD_BYTES


def rows_within(source: pa.NativeFile, groups: Sequence[RowGroup], wanted: Collection[str], size: int) -> int:
    """Return the number of rows (at least 1) whose columns ``wanted`` take at most about ``size`` decoded bytes.

    Raises ValueError for the same pages as ``read_pages``.
    """
    most = max(1, sum(group.rows for group in groups))
    for group in groups:
        most = rows_of(source, group, read_pages(source, group, wanted), size, most)
    return most


def rows_of(source: pa.NativeFile, group: RowGroup, pages: Mapping[int, Pages], size: int, most: int) -> int:
    """Return the number of rows of a row group that take at most ``size`` bytes: at least 1, at most ``most``.

    Each text is assumed to be the longest text of its dictionary. A dictionary is unpacked only when the length of its
    texts may change the result.
    """
    counts = [(found, -(-found.chunk.values // group.rows)) for found in pages.values()]
    row_bytes = sum(count * (found.value_bytes + found.texts) for found, count in counts)
    if row_bytes * most > size:
        row_bytes = sum(
            count * max(found.value_bytes, _NUMBER_BYTES + _longest(source, found)) for found, count in counts
        )
    return max(1, min(most, size // max(1, row_bytes)))


def _checked(source: pa.NativeFile, chunk: Chunk, rows: int, *, whole: bool) -> Pages:
    leaf, largest, values, dictionary, is_plain = chunk.leaf, 0, 0, None, True
    texts = leaf.physical == _TEXT
    longest = leaf.width or 0 if leaf.physical == _FIXED else 0
    at, end = chunk.start, chunk.start + chunk.size
    head, places = 0, list[tuple[int, int]]()
    while at < end:
        header = at
        start, page = _page(source, chunk, at, end)
        at = start + page.packed
        largest = max(largest, page.unpacked)
        if page.kind == DICTIONARY:
            head = at - chunk.start if header == chunk.start else head
            if texts:
                dictionary = start, page
        else:
            places.append((values, header))
            values += page.values
            if texts and page.encoding not in _INDEXES:
                is_plain = is_plain and page.encoding == _PLAIN
                # If texts are stored with prefixes, each value may be as long as the longest value of the page.
                parts = 1 if page.encoding == _PREFIXED else max(1, page.values)
                longest = max(longest, page.unpacked // parts)
        if not whole:
            return Pages(chunk, largest, _NUMBER_BYTES, dictionary, is_plain, is_whole=False)
    if values != chunk.values:
        raise ValueError(f"{_name(chunk)} has {values} values in its pages, not {chunk.values}")
    if values > rows and values > max(ROW_VALUES, VALUES_PER_PACKED_BYTE * chunk.size):
        raise ValueError(f"{_name(chunk)} has {values} values of {rows} rows in {chunk.size} bytes")
    return Pages(chunk, largest, _NUMBER_BYTES + longest, dictionary, is_plain, True, head, places)


def _page(source: pa.NativeFile, chunk: Chunk, at: int, end: int) -> tuple[int, Page]:
    """Return (position of the packed bytes, page) of the page at ``at``; raises ValueError for a header that does not
    fit into the chunk, which ends at ``end``.
    """
    data = source.read_at(min(_HEAD_BYTES, end - at), at)
    try:
        page = page_header(data)
    except (ValueError, IndexError):
        page = _long_header(source.read_at(end - at, at))
    at += page.size
    if not DATA <= page.kind <= DATA_V2 or page.unpacked < 0 or page.values < 0 or not 0 <= page.packed <= end - at:
        raise ValueError(f"{_name(chunk)} has a page of {page.packed} bytes, where {end - at} are left")
    return at, page


def _long_header(data: bytes) -> Page:
    try:
        return page_header(data)
    except IndexError:
        raise ValueError("a page header is truncated") from None


def _longest(source: pa.NativeFile, pages: Pages) -> int:
    """Return the length of the longest text of a dictionary, or a larger number."""
    if pages.dictionary is None or not pages.is_whole:
        return 0
    (start, page), chunk = pages.dictionary, pages.chunk
    if page.values <= 1 or page.unpacked > PAGE_BYTES:
        return pages.texts
    data = source.read_at(page.packed, start)
    if chunk.codec == _ZSTD:
        data = CODECS["zstandard"].unpack(data, page.unpacked)
    elif chunk.codec in _CODECS:
        data = pa.Codec(_CODECS[chunk.codec]).decompress(data, page.unpacked, asbytes=True)
    elif chunk.codec:
        return pages.texts
    at, longest, end = 0, 0, len(data)
    for _ in range(page.values):
        if at + _LENGTH_BYTES > end:
            break
        (size,) = _LENGTH(data, at)
        at += _LENGTH_BYTES + size
        longest = max(longest, size)
    if at > end or page.values * _LENGTH_BYTES > end:
        raise ValueError(f"{_name(chunk)} has a dictionary that is longer than its page")
    return longest


def _name(chunk: Chunk) -> str:
    return f"column {b'.'.join(chunk.leaf.path).decode()!r}"

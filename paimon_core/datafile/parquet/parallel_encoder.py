"""Parallel encoder: encodes the columns of a row group at the same time, so that one file uses several processors.

Each column is encoded as a Parquet file of its own in memory. Its pages are copied to the real file, in the order of
the columns, and its part of the footer is moved to the real footer. So the bytes of the file are the same as those that
one writer of Arrow writes. A column is written as soon as the columns before it are, while other threads encode.
Memory: the encoded bytes of one row group.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from paimon_core.codec.parquet.thrift import I64, LIST, STRUCT, Struct, parse_struct, serialize_struct
from paimon_core.parallel_work import own_processors, run_parallel

LEAST_VALUES = 1 << 18
"""The minimum number of values of a first row group that is worth several threads."""
LEAST_ROWS = 1 << 14
"""The minimum number of its rows: a file for a column costs as much time as encoding about ten thousand numbers."""
_MAGIC = b"PAR1"

# The field ids of format/parquet.thrift.
_FILE_ROWS, _ROW_GROUPS = 3, 4
_COLUMNS, _GROUP_BYTES, _GROUP_ROWS, _GROUP_START, _GROUP_PACKED = 1, 2, 3, 5, 6
_CHUNK_METADATA = 3
_UNPACKED, _PACKED, _DATA_PAGE, _DICTIONARY_PAGE = 6, 7, 9, 11

Item = TypeVar("Item")
Result = TypeVar("Result")


def is_worth_threads(rows: pa.Table) -> bool:
    """Whether the columns of a row group are encoded at the same time: they are many values and processors are idle."""
    if rows.num_columns < 2 or len(rows) < LEAST_ROWS or rows.num_columns * len(rows) < LEAST_VALUES:
        return False
    return own_processors() > 1


class ParallelEncoder:
    """Encodes row groups and passes their bytes to ``write``; at the end the caller writes the bytes of ``footer``."""

    def __init__(self, schema: pa.Schema, settings: Mapping[str, Any], write: Callable[[Any], Any]) -> None:
        """``write`` is called by one thread at a time, for the bytes in the order of the file."""
        self._schema = schema
        self._settings = settings
        self._write = write
        self._by_column = settings_by_column(schema.names, settings)
        self._at = len(_MAGIC)
        self._rows = 0
        self._groups: list[Struct] = []

    def encode(self, rows: pa.Table) -> None:
        """Write a row group; the first row group begins with the first bytes of the file.

        A column is written by the thread that has encoded it, or the columns before it. Raises the errors of ``write``.
        """
        if not self._groups:
            self._write(_MAGIC)
        start, written = self._at, _InOrder(self._written)

        def encode_column(at: int) -> None:
            written.add(at, self._encoded(rows, at))

        run_parallel(encode_column, self._order(rows), own_processors())
        chunks = written.results
        self._groups.append(
            {
                _COLUMNS: (LIST, (STRUCT, [chunk for chunks_of_column, _ in chunks for chunk in chunks_of_column])),
                _GROUP_BYTES: (I64, sum(unpacked for _, unpacked in chunks)),
                _GROUP_ROWS: (I64, len(rows)),
                _GROUP_START: (I64, start),
                _GROUP_PACKED: (I64, self._at - start),
            }
        )
        self._rows += len(rows)

    @staticmethod
    def _order(rows: pa.Table) -> list[int]:
        """Return the columns in the order in which they are begun.

        Large columns begin first, so that the threads end at about the same time; the others in the order of the file,
        so that they can be written.
        """
        sizes = [column.nbytes for column in rows.columns]
        least = sum(sizes) / (4 * own_processors())
        large = sorted((at for at, size in enumerate(sizes) if size > least), key=lambda at: -sizes[at])
        return [*large, *(at for at, size in enumerate(sizes) if size <= least)]

    def _written(self, column: tuple[pa.Buffer, Struct]) -> tuple[list[Struct], int]:
        """Write the pages of the next column; return its chunks with their positions in the file, and its size."""
        pages, group = column
        self._write(pages)
        chunks = group[_COLUMNS][1][1]
        for chunk in chunks:
            _move(chunk[_CHUNK_METADATA][1], self._at - len(_MAGIC))
        self._at += pages.size
        return chunks, group[_GROUP_BYTES][1]

    def _encoded(self, rows: pa.Table, at: int) -> tuple[pa.Buffer, Struct]:
        """Return the pages of a column, and the row group of the footer with its chunks."""
        column = self._schema.field(at)
        alone = pa.Table.from_arrays([rows.column(at)], schema=pa.schema([column]))
        data = _file(alone, self._by_column[column.name])
        pages, footer = _split(data)
        return pages, parse_struct(footer)[_ROW_GROUPS][1][1][0]

    def footer(self) -> bytes:
        """Return the footer of the file with all encoded row groups."""
        _, footer = _split(_file(self._schema.empty_table(), self._settings))
        tree = parse_struct(footer)
        tree[_FILE_ROWS] = (I64, self._rows)
        tree[_ROW_GROUPS] = (LIST, (STRUCT, self._groups))
        return serialize_struct(tree)


class _InOrder(Generic[Item, Result]):
    """Calls ``work`` for items in the order of their numbers, in the threads that add them, one call at a time."""

    def __init__(self, work: Callable[[Item], Result]) -> None:
        self.results: list[Result] = []
        self._work = work
        self._held: dict[int, Item] = {}
        self._working = threading.Lock()

    def add(self, number: int, item: Item) -> None:
        """Add an item, and call ``work`` for all items that are next, unless another thread does so."""
        self._held[number] = item
        del item  # free its memory as soon as it is written
        while len(self.results) in self._held and self._working.acquire(blocking=False):
            try:
                while (waiting := self._held.pop(len(self.results), None)) is not None:
                    self.results.append(self._work(waiting))
            finally:
                self._working.release()
            # An item that was added before the release is found by the next test.


def settings_by_column(names: Iterable[str], settings: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return for each column the settings without the parts for other columns.

    Arrow goes through all parts for each writer, so the parts of many columns would take longer than the encoding.
    """
    common = {name: value for name, value in settings.items() if not isinstance(value, list | dict)}
    found = {name: {**common} for name in names}
    for setting, value in settings.items():
        if not isinstance(value, list | dict):
            continue
        for own in found.values():
            own[setting] = type(value)()
        for path in value:
            ends = [at for at, letter in enumerate(path) if letter == "."]
            for name in {path, *(path[:at] for at in ends)} & found.keys():
                if isinstance(value, list):
                    found[name][setting].append(path)
                else:
                    found[name][setting][path] = value[path]
    return found


def _file(rows: pa.Table, settings: Mapping[str, Any]) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, rows.schema, **settings) as writer:
        if len(rows):
            writer.write_table(rows, len(rows))
    return sink.getvalue()


def _split(data: pa.Buffer) -> tuple[pa.Buffer, bytes]:
    """Return the pages and the footer of a file."""
    length = int.from_bytes(data[-8:-4].to_pybytes(), "little")
    end = data.size - 8 - length
    return data[len(_MAGIC) : end], data[end : end + length].to_pybytes()


def _move(metadata: Struct, by: int) -> None:
    """Add ``by`` to the positions of the pages of a chunk."""
    for member in (_DATA_PAGE, _DICTIONARY_PAGE):
        if member in metadata:
            kind, position = metadata[member]
            metadata[member] = (kind, position + by)

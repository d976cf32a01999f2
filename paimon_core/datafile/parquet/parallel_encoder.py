"""Parallel encoder: encodes the columns of a row group at the same time, so that one file uses several processors.

Each column is encoded as a Parquet file of its own in memory. Its pages are copied to the real file, in the order of
the columns, and its part of the footer is moved to the real footer. So the bytes of the file are the same as those that
one writer of Arrow writes. Memory: the encoded bytes of one row group.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

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


def is_worth_threads(rows: pa.Table) -> bool:
    """Whether the columns of a row group are encoded at the same time: they are many values and processors are idle."""
    if rows.num_columns < 2 or len(rows) < LEAST_ROWS or rows.num_columns * len(rows) < LEAST_VALUES:
        return False
    return own_processors() > 1


class ParallelEncoder:
    """Encodes row groups; the caller writes the bytes that ``encode`` returns, and at the end those of ``footer``."""

    def __init__(self, schema: pa.Schema, settings: Mapping[str, Any]) -> None:
        self._schema = schema
        self._settings = settings
        self._by_column = settings_by_column(schema.names, settings)
        self._at = len(_MAGIC)
        self._rows = 0
        self._groups: list[Struct] = []

    def encode(self, rows: pa.Table) -> list[pa.Buffer]:
        """Return the bytes of a row group; the first row group begins with the first bytes of the file."""
        parts = [] if self._groups else [pa.py_buffer(_MAGIC)]
        # Texts take longest: they begin first, so that the threads end at about the same time.
        order = sorted(range(rows.num_columns), key=lambda at: rows.column(at).nbytes, reverse=True)
        found = dict(zip(order, run_parallel(lambda at: self._encoded(rows, at), order, own_processors()), strict=True))
        start, chunks, unpacked = self._at, [], 0
        for pages, group in (found[at] for at in range(rows.num_columns)):
            parts.append(pages)
            unpacked += group[_GROUP_BYTES][1]
            for chunk in group[_COLUMNS][1][1]:
                _move(chunk[_CHUNK_METADATA][1], self._at - len(_MAGIC))
                chunks.append(chunk)
            self._at += pages.size
        self._groups.append(
            {
                _COLUMNS: (LIST, (STRUCT, chunks)),
                _GROUP_BYTES: (I64, unpacked),
                _GROUP_ROWS: (I64, len(rows)),
                _GROUP_START: (I64, start),
                _GROUP_PACKED: (I64, self._at - start),
            }
        )
        self._rows += len(rows)
        return parts

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

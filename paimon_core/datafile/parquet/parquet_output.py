"""ParquetOutput: the FileOutput for Parquet (format 7.7)."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from paimon_core.codec.parquet.footer_checksum import sealed
from paimon_core.datafile.parquet.footer import arrow_metadata, bytes_as_int96, file_end, footer_of
from paimon_core.datafile.parquet.int96 import with_int96
from paimon_core.datafile.parquet.parallel_encoder import ParallelEncoder, is_worth_threads
from paimon_core.datafile.parquet.parquet_schema import ParquetShape
from paimon_core.datafile.readable_rows import readable_parts
from paimon_core.datafile.statistics.column_statistics import (
    Bounds,
    bounds_of_long_texts,
    column_bounds,
    least_and_greatest,
    row_groups_of,
)
from paimon_core.schema import DataField

_BUFFER_BYTES = 1 << 20
"""Bytes that are buffered before they are written to the sink; the encoder writes many small pieces."""


class ParquetOutput:
    """The FileOutput for Parquet: each table that is written becomes one row group, or several (``readable_parts``).

    ``first_rows`` decide how the columns are encoded. ``in_memory``: the file is small; it is built in memory and
    written to the sink by ``finish``. A large file is encoded with all processors of the thread, to the same bytes.
    """

    def __init__(
        self,
        sink: pa.NativeFile,
        fields: Sequence[DataField],
        shape: ParquetShape,
        first_rows: pa.Table,
        *,
        in_memory: bool = False,
    ) -> None:
        self._sink = sink
        self._fields = fields
        self._shape = shape
        self._footer: list[pq.FileMetaData] = []
        self._finished = False
        self._known: dict[int, tuple[Any, Any] | None] = {}
        self._long_texts: dict[int, dict[int, tuple[str, str]]] = {}
        self._groups = 0
        settings = shape.settings(first_rows)
        self._parallel: ParallelEncoder | None = None
        if is_worth_threads(first_rows) and not in_memory:
            self._parallel = ParallelEncoder(shape.schema, settings, sink.write)
            return
        self._holding = None if in_memory else _HoldingSink(sink)
        self._buffer = (
            pa.BufferOutputStream()
            if self._holding is None
            else pa.BufferedOutputStream(pa.PythonFile(self._holding, mode="w"), _BUFFER_BYTES)
        )
        self._writer = pq.ParquetWriter(self._buffer, shape.schema, metadata_collector=self._footer, **settings)

    @property
    def written_bytes(self) -> int:
        """The bytes of the row groups; after ``finish``, the bytes of the file."""
        return int(self._sink.tell() if self._finished or self._parallel is not None else self._buffer.tell())

    def write(self, rows: pa.Table) -> None:
        """Write one row group, or several if readers would refuse the rows in one row group (``readable_parts``)."""
        if self._parallel is None and self._holding is None:
            self._known = {at: least_and_greatest(rows.columns[at]) for at in self._shape.plain}
        for part in readable_parts(rows, self._shape.fixed["compression"]):
            self._write(part)

    def _write(self, rows: pa.Table) -> None:
        """Write a row group, with INT96 columns as 12-byte values."""
        schema, int96 = self._shape.schema, self._shape.int96
        columns = rows.columns
        for at in self._shape.texts:
            if self._known.get(at) is None and (ends := bounds_of_long_texts(columns[at])) is not None:
                self._long_texts.setdefault(at, {})[self._groups] = ends
        self._groups += 1
        if int96:
            columns = [
                pa.chunked_array([with_int96(c, f.type) for c in column.chunks], f.type) if f.name in int96 else column
                for f, column in zip(schema, columns, strict=True)
            ]
        group = pa.Table.from_arrays(columns, schema=schema)
        if self._parallel is None:
            self._writer.write_table(group, len(rows))
            return
        self._parallel.encode(group)

    def finish(self) -> None:
        """Write the footer with its checksum."""
        before, footer = self._end()
        if self._shape.int96:
            footer = bytes_as_int96(footer)
        self._sink.write(before + file_end(sealed(footer)))
        self._finished = True

    def _end(self) -> tuple[bytes, bytes]:
        """Return the bytes before the footer that are not written yet, and the footer."""
        if self._parallel is not None:
            footer = self._parallel.footer()
            self._footer.append(arrow_metadata(footer))
            return b"", footer
        self._close()
        return footer_of(self._buffer.getvalue().to_pybytes() if self._holding is None else bytes(self._holding.held))

    def bounds(self, null_counts: list[int], without: list[bool]) -> list[Bounds]:
        """Return the bounds from the footer; for a small file, the same bounds are computed from the rows."""
        (footer,) = self._footer
        groups = row_groups_of(footer)
        found = []
        for at, (field, leaf) in enumerate(zip(self._fields, self._shape.leaves, strict=True)):
            nulls = null_counts[at]
            if without[at]:
                found.append(Bounds(None, None, nulls))
            elif (known := self._known.get(at)) is not None:
                found.append(Bounds(*known, nulls))
            else:
                found.append(column_bounds(groups, leaf, field.type, nulls, self._long_texts.get(at, {})))
        return found

    def discard(self) -> None:
        """Close the encoder."""
        self._close()

    def _close(self) -> None:
        if self._parallel is not None or not self._writer.is_open:
            return
        if self._holding is None:
            self._writer.close()
            return
        self._buffer.flush()
        self._holding.is_holding = True
        self._writer.close()
        self._buffer.flush()


class _HoldingSink(io.RawIOBase):
    """Writes bytes to the sink until ``is_holding``, then keeps the bytes of the footer. The sink stays open."""

    def __init__(self, sink: pa.NativeFile) -> None:
        self._sink = sink
        self.is_holding = False
        self.held = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        if self.is_holding:
            self.held += data
        else:
            self._sink.write(data)
        return len(data)

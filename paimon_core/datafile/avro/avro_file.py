"""Avro data files (format 7.10): reads and writes files block by block.

Avro files are ten to twenty times slower than Parquet files: an Avro file stores rows, fastavro decodes each row to a
dict, and Arrow converts the dicts to columns. A write takes the same steps in reverse. At any time, only the dicts of
about ``_STEP_BYTES`` bytes of rows are in memory.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from paimon_core.codec.avro.container import AvroReader, AvroWriter, decoding
from paimon_core.codec.avro.plain_schema import array_schema
from paimon_core.datafile.avro.avro_schema import (
    arrow_type,
    avro_schema,
    from_plain,
    plain_schema,
    plain_type,
    to_plain,
)
from paimon_core.datafile.file_format import Arrays, ColumnRange
from paimon_core.datafile.statistics.column_bounds import ColumnBounds
from paimon_core.datafile.statistics.column_statistics import Bounds
from paimon_core.limits import AVRO_BLOCK_BYTES, AVRO_RATIO, AVRO_RECORDS
from paimon_core.schema import DataField
from paimon_core.types import DataType

_STEP_BYTES = 1 << 20
"""Bytes of rows that are converted to dicts at a time; the dicts use about ten times as much memory."""
_STEP_ROWS = 1 << 12
"""Maximum number of dicts that are converted to columns at a time."""
_BLOCK_BYTES = 64_000


class AvroOutput:
    """The FileOutput for Avro."""

    def __init__(
        self,
        sink: pa.NativeFile,
        fields: Sequence[DataField],
        compression: str,
        zstd_level: int,
        bounded: Sequence[bool],
    ) -> None:
        schema = avro_schema(fields)
        self._sink = sink
        self._writer = AvroWriter(sink, schema, compression, level=zstd_level, encoding=plain_schema(schema))
        self._bounds = ColumnBounds(fields, bounded)

    @property
    def written_bytes(self) -> int:
        """The bytes of the written blocks plus the bytes of the unfinished block before compression."""
        return int(self._sink.tell()) + self._writer.held_bytes

    def write(self, rows: pa.Table) -> None:
        """Add rows."""
        self._bounds.add(rows)
        for batch in rows.to_batches():
            width = max(1, batch.nbytes // max(1, len(batch)))
            for start in range(0, len(batch), step := max(1, _STEP_BYTES // width)):
                part = batch.slice(start, step)
                plain = pa.RecordBatch.from_arrays([to_plain(c) for c in part.columns], names=rows.column_names)
                records = plain.to_pylist()
                for at in range(0, len(records), block := max(1, _BLOCK_BYTES // width)):
                    self._writer.write(records[at : at + block])

    def finish(self) -> None:
        """Write the last block."""
        self._writer.finish()

    def bounds(self, null_counts: list[int], without: list[bool]) -> list[Bounds]:
        """Return the bounds of each column; unknown bounds where ``without`` is true."""
        return self._bounds.bounds(null_counts, without)

    def discard(self) -> None:
        """Do nothing: the writer has no resources to free."""


class AvroInput:
    """The FileInput for Avro; the row count is known only after reading."""

    row_count = None
    reads_members = False

    def __init__(self, source: pa.NativeFile, path: str) -> None:
        self._path = path
        with decoding(path):
            self._reader = AvroReader(source, source.size())
            node = json.loads(self._reader.schema)
            self._array = array_schema(json.dumps(plain_schema(node)).encode(), AVRO_RECORDS)
            self.schema = pa.schema(list(arrow_type(node)))

    @property
    def row_group_rows(self) -> Sequence[int]:
        """An empty sequence: ``batches`` reads the whole file."""
        return ()

    def bounds(self, column: str, dtype: DataType) -> Sequence[ColumnRange]:
        """Return (): Avro files have no statistics."""
        return ()

    def near_batches(self, *_: Any, **__: Any) -> None:
        """None: all rows of a row group are decoded."""

    def batches(
        self,
        wanted: Mapping[str, DataType],
        row_groups: list[int] | None,
        *,
        batch_rows: int,
        batch_bytes: int,
        use_threads: bool,
    ) -> Iterator[tuple[int, Arrays]]:
        """Yield all rows, in batches of at most ``_STEP_ROWS`` rows; ``batch_bytes`` has no effect.

        zstd frames that have a checksum are always verified.
        """
        with decoding(self._path):
            if not wanted:
                while (count := self._reader.skip_block()) is not None:
                    yield count, {}
                return
            types = pa.struct([self.schema.field(name) for name in wanted])
            step = min(batch_rows, _STEP_ROWS)
            for records in self._steps():
                for start in range(0, len(records), step):
                    yield _columns(records[start : start + step], types)

    def _steps(self) -> Iterator[list[dict[str, Any]]]:
        held: list[dict[str, Any]] = []
        size = 0
        limit = max(AVRO_BLOCK_BYTES, AVRO_RATIO * self._reader.size)
        while (block := self._reader.next_block(limit)) is not None:
            held += block.records(self._array)
            size += len(block.data)
            if size >= _STEP_BYTES:
                yield held
                held, size = [], 0
        if held:
            yield held


def _columns(records: list[dict[str, Any]], types: pa.StructType) -> tuple[int, Arrays]:
    rows = pa.array(records, plain_type(types))
    return len(records), {f.name: from_plain(rows.field(at), f.type) for at, f in enumerate(types)}

"""Spilled batches: how the batches of a run are stored on local disk, so that they cost little time.

Compression takes longer than everything else of a spill, so only columns that it makes at most half as large are
compressed. Integers are stored as distances from the smallest value of their batch, in 1, 2 or 4 bytes if all distances
fit. A column that is the same memory as another column, as a key and its value, is stored once. With option
spill-compression = none, values are stored as they are in memory.

A batch is stored as up to two Arrow IPC streams: its plain columns and its compressed columns.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.arrow.byte_budget import rows_for

_PLAIN, _PACKED = 0, 1
_SHRINKS = 2
"""A column is compressed if its bytes then are fewer by this factor."""
_SAMPLE_ROWS, _SAMPLE_BYTES = 1 << 13, 1 << 18
"""The largest sample of a column that is compressed to decide about the run."""
_LEAST_SAMPLE = 1 << 9
"""The smallest sample in rows; all columns of runs with a smaller first batch are compressed."""
_PART_OF_BATCH = 8
"""A sample has at most this part of the first batch."""
_SIGNED = {4: pa.int32(), 8: pa.int64()}
_UNSIGNED = ((1, pa.uint8()), (2, pa.uint16()), (4, pa.uint32()))


@dataclass(frozen=True, slots=True)
class StoredColumn:
    """A column of a batch: column ``at`` of the stream ``part``; ``low`` was subtracted from its values unless None."""

    part: int
    at: int
    low: int | None


@dataclass(frozen=True, slots=True)
class StoredBatch:
    """Where a batch is in its file."""

    positions: tuple[int | None, int | None]
    """The first byte of each stream; None: the batch does not have this stream."""
    columns: tuple[StoredColumn, ...]


class BatchWriter:
    """Writes the batches of one run to ``sink``; ``codec`` None: nothing is made smaller."""

    def __init__(self, sink: pa.NativeFile, codec: pa.Codec | None) -> None:
        self._sink = sink
        self._codec = codec
        self._settings = (pa.ipc.IpcWriteOptions(), pa.ipc.IpcWriteOptions(compression=codec))
        self._is_packed: list[bool] | None = None

    def write(self, batch: pa.RecordBatch) -> StoredBatch:
        """Write a batch; all batches have the same schema, and the values of the first decide what is compressed."""
        first = _first_places(batch)
        is_own = [place == at for at, place in enumerate(first)]
        held = [
            self._narrowed(column) if own else (column, None) for column, own in zip(batch.columns, is_own, strict=True)
        ]
        if self._is_packed is None:
            self._is_packed = [own and self._shrinks(column) for own, (column, _) in zip(is_own, held, strict=True)]
        parts: tuple[list[pa.Array], list[pa.Array]] = ([], [])
        stored: list[StoredColumn] = []
        for at, (column, low) in enumerate(held):
            if first[at] < at:
                stored.append(stored[first[at]])
                continue
            part = _PACKED if self._is_packed[at] else _PLAIN
            stored.append(StoredColumn(part, len(parts[part]), low))
            parts[part].append(column)
        plain, packed = (self._put(columns, setting) for columns, setting in zip(parts, self._settings, strict=True))
        return StoredBatch((plain, packed), tuple(stored))

    def _put(self, columns: list[pa.Array], settings: pa.ipc.IpcWriteOptions) -> int | None:
        if not columns:
            return None
        position = int(self._sink.tell())
        _write(self._sink, columns, settings)
        return position

    def _narrowed(self, column: pa.Array) -> tuple[pa.Array, int | None]:
        """Return a column of integers, dates or times as distances from the returned smallest value, if this is
        narrower, and other columns as they are.
        """
        bits = column.type.bit_width if _is_integer(column.type) else 0
        if self._codec is None or bits // 8 not in _SIGNED:
            return column, None
        numbers = column.view(_SIGNED[bits // 8])
        low, high = pc.min_max(numbers).as_py().values()
        if low is None:
            return column, None
        kind = next((kind for width, kind in _UNSIGNED if width < bits // 8 and high - low < 1 << 8 * width), None)
        if kind is None:
            return column, None
        # The distance of a null's number may not fit; it is not used.
        return pc.subtract(numbers, pa.scalar(low, numbers.type)).cast(kind, safe=False), low

    def _shrinks(self, column: pa.Array) -> bool:
        """Whether the column of the first batch is compressed; rows of a small batch are, without a sample."""
        if self._codec is None:
            return False
        most = min(_SAMPLE_ROWS, len(column) // _PART_OF_BATCH)
        if most < _LEAST_SAMPLE:
            return True
        sample = column.slice(len(column) // 2, rows_for(_SAMPLE_BYTES, column.nbytes / len(column), most))
        plain, packed = (_body_bytes(sample, settings) for settings in self._settings)
        return _SHRINKS * packed <= plain


def read_batch(source: pa.NativeFile, schema: pa.Schema, stored: StoredBatch) -> pa.RecordBatch:
    """Return a batch that was written; raises OSError or ArrowException when the file is damaged."""
    parts = [[] if position is None else _read(source, position) for position in stored.positions]
    found: dict[StoredColumn, pa.Array] = {}
    for column, kind in zip(stored.columns, schema.types, strict=True):
        if column not in found:
            found[column] = _widened(parts[column.part][column.at], column.low, kind)
    return pa.RecordBatch.from_arrays([found[column] for column in stored.columns], schema=schema)


def _read(source: pa.NativeFile, position: int) -> list[pa.Array]:
    source.seek(position)
    try:
        return list(pa.ipc.open_stream(source).read_next_batch().columns)
    except (EOFError, StopIteration) as error:
        raise pa.ArrowInvalid("the file ends too early") from error


def _widened(column: pa.Array, low: int | None, kind: pa.DataType) -> pa.Array:
    if low is None:
        return column
    wide = _SIGNED[kind.bit_width // 8]
    return pc.add(column.cast(wide, safe=False), pa.scalar(low, wide)).view(kind)


def _is_integer(kind: pa.DataType) -> bool:
    return bool(pa.types.is_signed_integer(kind) or pa.types.is_timestamp(kind) or pa.types.is_time(kind)) or (
        kind == pa.date32()
    )


def _first_places(batch: pa.RecordBatch) -> list[int]:
    """Return for each column the number of the first column that is the same memory."""
    known: dict[tuple[object, ...], int] = {}
    return [known.setdefault(_place(column, at), at) for at, column in enumerate(batch.columns)]


def _place(column: pa.Array, at: int) -> tuple[object, ...]:
    if pa.types.is_nested(column.type) or pa.types.is_dictionary(column.type) or not len(column):
        return (at,)  # the buffers do not tell all of such values
    return (column.type, column.offset, *(None if b is None else b.address for b in column.buffers()))


def _write(sink: pa.NativeFile, columns: list[pa.Array], settings: pa.ipc.IpcWriteOptions) -> None:
    batch = pa.RecordBatch.from_arrays(columns, names=list(map(str, range(len(columns)))))
    with pa.ipc.new_stream(sink, batch.schema, options=settings) as writer:
        writer.write_batch(batch)


def _body_bytes(column: pa.Array, settings: pa.ipc.IpcWriteOptions) -> int:
    sink = pa.BufferOutputStream()
    _write(sink, [column], settings)
    messages = pa.ipc.MessageReader.open_stream(pa.BufferReader(sink.getvalue()))
    return sum(message.body.size for message in messages if message.body is not None)

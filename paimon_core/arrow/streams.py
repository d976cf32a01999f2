"""Streams: opens Arrow data, DataFrames, lists and generators, and combines their batches into tables.

Only one combined table is in memory, even if a generator or a stream is long. The size of a table is the size of its
decoded rows, because the caller decodes dictionary columns. A batch that is larger than a table may be is cut.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any

import pyarrow as pa

from paimon_core.arrow.byte_budget import cut, decoded_bytes
from paimon_core.arrow.python_rows import table_of_rows
from paimon_core.errors import InvalidRequest
from paimon_core.schema import DataField

Convert = Callable[[Sequence[Mapping[str, Any]], int], pa.Table]
"""Converts dicts to a table; the second argument is the number of the first row."""
GATHER_BYTES = 256 << 20
_ROWS = 1 << 14
"""The number of dicts of a generator that are converted at once."""


def open_stream(data: Any, fields: Sequence[DataField] = ()) -> pa.RecordBatchReader:
    """Return a reader of ``data``: a Table, batch, reader, dataset, DataFrame (Arrow PyCapsule stream) or list.

    A list may contain record batches or dicts, whose values are converted to the types of ``fields`` by name. Raises
    InvalidRequest for data of any other type, SchemaMismatch for a value of a dict that does not fit.
    """
    return _opened(data, partial(_converted, fields))


def _converted(fields: Sequence[DataField], rows: Sequence[Mapping[str, Any]], first_row: int) -> pa.Table:
    return table_of_rows(rows, fields, first_row)


def _opened(data: Any, convert: Convert) -> pa.RecordBatchReader:
    if isinstance(data, pa.RecordBatch):
        return pa.RecordBatchReader.from_batches(data.schema, [data])
    if isinstance(data, pa.Table):
        return data.to_reader()
    if isinstance(data, pa.RecordBatchReader):
        return data
    try:
        if hasattr(data, "__arrow_c_stream__"):
            return pa.RecordBatchReader.from_stream(data)
        if hasattr(data, "__arrow_c_array__"):
            return _opened(pa.record_batch(data), convert)
        if hasattr(data, "scanner"):
            return data.scanner().to_reader()
        if isinstance(data, list | tuple) and data and all(isinstance(b, pa.RecordBatch) for b in data):
            return pa.Table.from_batches(data).to_reader()
        if isinstance(data, list | tuple) and all(isinstance(row, Mapping) for row in data):
            return convert(data, 0).to_reader()
    except (pa.ArrowException, TypeError, OverflowError) as error:
        raise InvalidRequest(f"the data is not a stream of record batches with one schema: {error}") from error
    raise InvalidRequest(
        "data must export an Arrow stream (Table, DataFrame, reader), or be dicts or record batches in a list or "
        f"generator, not {type(data).__name__}"
    )


def read_tables(
    data: Any, fields: Sequence[DataField] | Convert, table_bytes: int = GATHER_BYTES
) -> Iterator[pa.Table]:
    """Yield the rows of ``data`` as tables of about ``table_bytes``.

    In addition to the types that ``open_stream`` accepts, ``data`` may be a polars LazyFrame, or an iterator of dicts,
    record batches, tables and DataFrames with different columns. ``fields`` may be a function that converts dicts.
    Raises the errors of ``open_stream``.
    """
    yield from gather(_batches(data, fields if callable(fields) else partial(_converted, fields)), table_bytes)


def _batches(data: Any, convert: Convert) -> Iterator[pa.RecordBatch]:
    if hasattr(data, "collect_batches"):  # a LazyFrame, which is not computed as a whole
        data = iter(data.collect_batches())
    if not isinstance(data, Iterator) or isinstance(data, pa.RecordBatchReader) or hasattr(data, "__arrow_c_stream__"):
        yield from _opened(data, convert)
        return
    first_row = 0
    for is_dicts, group in itertools.groupby(data, lambda item: isinstance(item, Mapping)):
        if not is_dicts:
            for item in group:
                for batch in _opened(item, convert):
                    first_row += len(batch)
                    yield batch
            continue
        while rows := list(itertools.islice(group, _ROWS)):
            yield from convert(rows, first_row).to_batches()
            first_row += len(rows)


def gather(batches: Iterable[pa.RecordBatch], table_bytes: int = GATHER_BYTES) -> Iterator[pa.Table]:
    """Combine batches into tables of at most ``table_bytes``, which are large enough for efficient column operations.

    Batches with different columns are not combined.
    """
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in chain.from_iterable(cut(batch, table_bytes) for batch in batches):
        more = decoded_bytes(batch)
        if held and (size + more > table_bytes or batch.schema != held[0].schema):
            yield pa.Table.from_batches(held)
            held, size = [], 0
        held.append(batch)
        size += more
        if size >= table_bytes:  # the next batch is not read before the caller needs it
            yield pa.Table.from_batches(held)
            held, size = [], 0
    if held:
        yield pa.Table.from_batches(held)

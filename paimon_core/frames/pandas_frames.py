"""Pandas frames: rows as pandas DataFrames, with numpy or with Arrow types, whole or in chunks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from paimon_core.errors import InvalidRequest
from paimon_core.frames.source import optional_package

if TYPE_CHECKING:
    import pandas

BACKENDS = ("numpy", "pyarrow")


def to_pandas(rows: pa.Table, dtype_backend: str) -> pandas.DataFrame:
    """Return the rows with the types of numpy, or with ``pandas.ArrowDtype``, which preserves nulls and exact types.

    Raises InvalidRequest for another backend, and when pandas is not installed.
    """
    frame: pandas.DataFrame = rows.to_pandas(**_settings(dtype_backend))
    return frame


def in_chunks(rows: pa.RecordBatchReader, count: int, dtype_backend: str) -> Iterator[pandas.DataFrame]:
    """Yield DataFrames of ``count`` rows (the last may have fewer); the call raises the errors of ``to_pandas``."""
    return _chunks(rows, count, _settings(dtype_backend))


def _chunks(rows: pa.RecordBatchReader, count: int, settings: dict[str, Any]) -> Iterator[pandas.DataFrame]:
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in rows:
        while len(batch):
            part = batch.slice(0, count - size)
            held.append(part)
            size += len(part)
            batch = batch.slice(len(part))
            if size == count:
                yield pa.Table.from_batches(held).to_pandas(**settings)
                held, size = [], 0
    if held:
        yield pa.Table.from_batches(held).to_pandas(**settings)


def _settings(dtype_backend: str) -> dict[str, Any]:
    pandas = optional_package("pandas", "to_pandas")
    if dtype_backend not in BACKENDS:
        raise InvalidRequest(f"dtype_backend must be one of {', '.join(BACKENDS)}, not {dtype_backend!r:.60}")
    return {"types_mapper": pandas.ArrowDtype} if dtype_backend == "pyarrow" else {}

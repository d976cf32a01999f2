"""Lazy frame: a scan as a polars LazyFrame, with push-down of columns, filters and the number of rows.

Polars passes a filter as an expression and trusts the source to apply it. The scan reads only the rows that may match,
as far as the filter can be translated; polars then applies all of it to each batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from paimon_core.frames.polars_filter import Filter
from paimon_core.frames.source import Source, optional_package

if TYPE_CHECKING:
    import polars


def lazy_frame(source: Source) -> polars.LazyFrame:
    """Return the rows as a LazyFrame, which reads one snapshot each time; raises InvalidRequest without polars."""
    pl = optional_package("polars", "to_lazy")
    plugins = optional_package("polars.io.plugins", "to_lazy")

    def batches(
        columns: list[str] | None, predicate: polars.Expr | None, rows: int | None, batch_rows: int | None
    ) -> Iterator[polars.DataFrame]:
        return _frames(pl, source, columns, predicate, rows)

    schema = pl.from_arrow(source.schema.empty_table()).schema
    lazy: polars.LazyFrame = plugins.register_io_source(batches, schema=schema, is_pure=True)
    return lazy


def _frames(
    pl: Any, source: Source, columns: list[str] | None, predicate: polars.Expr | None, rows: int | None
) -> Iterator[polars.DataFrame]:
    """Yield the rows; a number of rows limits the rows before the filter."""
    names = list(source.schema.names) if columns is None else list(columns)
    # Polars may compare a 32-bit float in 64 bits, in which a literal has another value.
    exact = [f.name for f in source.schema if not pa.types.is_float32(f.type)]
    keep = Filter.of(pl, predicate)
    read = list(dict.fromkeys([*names, *(keep.columns if keep is not None else ())]))
    where = keep.where.only(exact) if keep is not None and keep.where is not None and rows is None else None
    reader = source.narrowed(read or source.schema.names[:1], where, rows).to_batches()
    for batch in reader:
        frame = pl.from_arrow(batch)
        if keep is not None and keep.expression is not None:
            frame = frame.filter(keep.expression)
        yield frame.select(names) if names != frame.columns else frame

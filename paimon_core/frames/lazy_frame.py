"""Lazy frame: a scan as a polars LazyFrame, which passes columns, filters and a number of rows to the scan.

Polars passes a filter as an expression and expects that the source applies this filter. The parts of the filter that
can be translated select the rows that the scan reads; then the whole expression is applied to each batch.
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
    """Return the rows as a LazyFrame, which always reads the same snapshot; raises InvalidRequest without polars."""
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
    """Yield the rows; ``rows`` is the number of rows to read before the filter is applied, None: all."""
    names = list(source.schema.names) if columns is None else list(columns)
    # Filters on 32-bit floats are not passed to the scan: polars may compare them in 64 bits, where a literal differs.
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

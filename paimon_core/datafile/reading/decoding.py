"""Decoding: decodes some columns of an open data file and converts them to the types of the reading schema."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from paimon_core.datafile.evolution.column_mapping import Source
from paimon_core.datafile.file_format import Arrays, BatchBounds, FileInput
from paimon_core.datafile.reading.file_request import FileRequest
from paimon_core.types import DataType


@dataclass(frozen=True, slots=True)
class Decoding:
    """One open file, and the request that states its rows to read."""

    held: FileInput
    path: str
    request: FileRequest

    def arrays(
        self, sources: Sequence[Source], groups: list[int] | None, most: int | None = None
    ) -> Iterator[tuple[int, list[pa.Array]]]:
        """Yield the row count and the columns of each batch of the row groups (None: all), in file order.

        ``most``: the maximum number of rows of a batch, instead of the number in the request.
        """
        yield from self._all_converted(sources, self.held.batches(_wanted(sources), groups, **self._bounds(most)))

    def near(
        self, sources: Sequence[Source], group: int, start: int, end: int, most: int
    ) -> tuple[int, int, Iterator[tuple[int, list[pa.Array]]]] | None:
        """Return (first row, row after the last, batches as of ``arrays``) of rows of a row group near the given ones.

        The rows ``start`` up to ``end`` are among them. None if only ``arrays`` can decode them.
        """
        found = self.held.near_batches(_wanted(sources), group, start, end, **self._bounds(most))
        return found and (*found[:2], self._all_converted(sources, found[2]))

    def _bounds(self, most: int | None) -> BatchBounds:
        request = self.request
        rows = request.batch_rows if most is None else most
        return {"batch_rows": rows, "batch_bytes": request.batch_bytes, "use_threads": request.threads}

    def _all_converted(
        self, sources: Sequence[Source], batches: Iterable[tuple[int, Arrays]]
    ) -> Iterator[tuple[int, list[pa.Array]]]:
        for count, arrays in batches:
            if self.request.counts is not None:
                for name, array in arrays.items():
                    self.request.counts.add_decoded(name, count, array.nbytes)
            yield count, [self._converted(s, arrays, count) for s in sources]

    def _converted(self, source: Source, arrays: Mapping[str, pa.Array], rows: int) -> pa.Array:
        if source.column is None:
            return pa.nulls(rows, source.wanted.type.to_arrow())
        return source.convert(arrays[source.column], self.path, encoded=source.wanted.name in self.request.encoded)


def _wanted(sources: Sequence[Source]) -> dict[str, DataType]:
    return {s.column: s.stored for s in sources if s.column is not None}


def batch_of(schema: pa.Schema, arrays: Sequence[pa.Array]) -> pa.RecordBatch:
    """Return arrays as a batch of ``schema``; where an array is a dictionary, the field gets the dictionary type."""
    if any(pa.types.is_dictionary(a.type) for a in arrays):
        schema = pa.schema([f.with_type(a.type) for f, a in zip(schema, arrays, strict=True)])
    return pa.RecordBatch.from_arrays(arrays, schema=schema)

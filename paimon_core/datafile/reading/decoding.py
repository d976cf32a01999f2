"""Decoding: decodes some columns of an open data file and converts them to the types of the reading schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from paimon_core.datafile.evolution.column_mapping import Source
from paimon_core.datafile.file_format import FileInput
from paimon_core.datafile.reading.file_request import FileRequest


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
        wanted = {s.column: s.stored for s in sources if s.column is not None}
        counts = self.request.counts
        for count, arrays in self.held.batches(
            wanted,
            groups,
            batch_rows=self.request.batch_rows if most is None else most,
            batch_bytes=self.request.batch_bytes,
            use_threads=self.request.threads,
        ):
            if counts is not None:
                for name, array in arrays.items():
                    counts.add_decoded(name, count, array.nbytes)
            yield count, [self._converted(s, arrays, count) for s in sources]

    def _converted(self, source: Source, arrays: Mapping[str, pa.Array], rows: int) -> pa.Array:
        if source.column is None:
            return pa.nulls(rows, source.wanted.type.to_arrow())
        return source.convert(arrays[source.column], self.path, encoded=source.wanted.name in self.request.encoded)


def batch_of(schema: pa.Schema, arrays: Sequence[pa.Array]) -> pa.RecordBatch:
    """Return arrays as a batch of ``schema``; where an array is a dictionary, the field gets the dictionary type."""
    if any(pa.types.is_dictionary(a.type) for a in arrays):
        schema = pa.schema([f.with_type(a.type) for f, a in zip(schema, arrays, strict=True)])
    return pa.RecordBatch.from_arrays(arrays, schema=schema)

"""FileInput and FileOutput: the protocols that each format of data files implements (format 7.6 to 7.10).

``datafile.formats`` selects the implementation by the suffix of the file's name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, TypedDict, Unpack

import pyarrow as pa

from paimon_core.datafile.statistics.column_statistics import Bounds
from paimon_core.types import DataType

UNPACKED_BYTES = 64 << 20
"""Target size in bytes of a batch of decoded rows: when rows could be larger, fewer rows are read at a time."""

Arrays = Mapping[str, pa.Array]
NearBatches = tuple[int, int, Iterator[tuple[int, Arrays]]]
"""The number of the first row in the row group, the number after the last row, and batches of these rows."""
ColumnRange = tuple[Any, Any, int | None]
"""Minimum and maximum (storage values that bound all non-null values) and null count of a column; None: unknown."""


class BatchBounds(TypedDict):
    """The bounds of ``FileInput.batches``, which ``near_batches`` takes as well."""

    batch_rows: int
    batch_bytes: int
    use_threads: bool


def counted_batches(rows: int, batch_rows: int) -> Iterator[tuple[int, Arrays]]:
    """Yield batches without columns for a file of ``rows`` rows, for reads that need only the row count."""
    yield from ((min(batch_rows, rows - start), {}) for start in range(0, rows, batch_rows))


class FileInput(Protocol):
    """A data file that is open to read. For bytes that do not decode, methods raise the errors of the decoder."""

    @property
    def reads_members(self) -> bool:
        """Whether ``batches`` decodes only the fields of a ROW that the wanted type has."""

    @property
    def schema(self) -> pa.Schema:
        """The columns of the file."""

    @property
    def row_count(self) -> int | None:
        """The row count that the file states; None when it is known only after reading all rows."""

    @property
    def row_group_rows(self) -> Sequence[int]:
        """The number of rows of each row group; () for a format whose ``batches`` does not select row groups."""

    def bounds(self, column: str, dtype: DataType) -> Sequence[ColumnRange]:
        """Return the known bounds and null count of a column in each row group; () when the format has none.

        ``dtype`` is a type whose Arrow type is the type of the file's column.
        """

    def batches(
        self,
        wanted: Mapping[str, DataType],
        row_groups: list[int] | None,
        *,
        batch_rows: int,
        batch_bytes: int,
        use_threads: bool,
    ) -> Iterator[tuple[int, Arrays]]:
        """Yield the row count and the ``wanted`` columns of each batch of the row groups, in file order.

        A batch has at least one row, at most ``batch_rows`` rows, and about ``batch_bytes`` bytes with its dictionary
        columns decoded (the format Avro ignores ``batch_bytes``). ``row_groups`` None means all row groups; a format
        without row groups ignores ``row_groups`` and yields all rows. ``casts.from_stored`` converts the Arrow types of
        the columns to the wanted types.
        """

    def near_batches(
        self, wanted: Mapping[str, DataType], row_group: int, start: int, end: int, **bounds: Unpack[BatchBounds]
    ) -> NearBatches | None:
        """Return batches of rows of a row group that include the rows ``start`` up to ``end``, and few others.

        None, if the format or the file does not allow it: then ``batches`` yields all rows of the row group.
        """


class FileOutput(Protocol):
    """A file that is written to an open sink. Methods raise OSError when the sink fails."""

    @property
    def written_bytes(self) -> int:
        """The approximate size in bytes of the rows written so far; the exact file size after ``finish``."""

    def write(self, rows: pa.Table) -> None:
        """Add rows of exactly the file's columns."""

    def finish(self) -> None:
        """Write the buffered rows and the end of the file; the sink stays open."""

    def bounds(self, null_counts: list[int], without: list[bool]) -> list[Bounds]:
        """Return the bounds of each column of a finished file; unknown bounds where ``without`` is true."""

    def discard(self) -> None:
        """Free the resources of a file that will not be used."""

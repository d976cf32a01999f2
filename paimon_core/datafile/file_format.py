"""FileInput and FileOutput: what a format of data files is, to those who read and write them (format 7.6 to 7.10).

``datafile.formats`` chooses: a file's format is the last part of its name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.datafile.statistics import Bounds
from paimon_core.types import DataType

LEAST_BATCH_ROWS = 1 << 12
"""Fewer rows a batch cost more time than they save memory."""

Arrays = Mapping[str, pa.Array]


def counted_batches(rows: int, batch_rows: int) -> Iterator[tuple[int, Arrays]]:
    """The batches of a file of which no column is wanted."""
    yield from ((min(batch_rows, rows - start), {}) for start in range(0, rows, batch_rows))


class FileInput(Protocol):
    """An open file. Each method raises whatever its decoder raises for bytes that do not decode."""

    @property
    def schema(self) -> pa.Schema:
        """The columns that the file holds."""

    @property
    def row_count(self) -> int | None:
        """How many rows the file claims to have; None: that is known once they are read."""

    def rows_of(self, size: int, columns: Collection[str]) -> int:
        """About how many rows of ``columns`` take ``size`` bytes in memory, but LEAST_BATCH_ROWS at least."""

    def matching(self, filters: pc.Expression) -> list[int] | None:
        """The row groups that may hold rows for which ``filters`` is true; None: all, or there is no telling."""

    def batches(
        self,
        wanted: Mapping[str, DataType],
        row_groups: list[int] | None,
        *,
        batch_rows: int,
        use_threads: bool,
        verify_checksums: bool,
    ) -> Iterator[tuple[int, Arrays]]:
        """The row count and the ``wanted`` columns of each batch of these row groups, in file order.

        ``row_groups`` None: all; formats without row groups give all rows whatever it says. The types are such as
        ``casts.from_stored`` takes for the wanted ones.
        """


class FileOutput(Protocol):
    """A file that is written to an open sink; what fails in the sink comes as OSError."""

    @property
    def written_bytes(self) -> int:
        """About the bytes that the rows written so far take; exact once finished."""

    def write(self, rows: pa.Table) -> None:
        """Add rows of exactly the file's columns."""

    def finish(self) -> None:
        """Write what is held and the end of the file; the sink stays open."""

    def bounds(self, null_counts: list[int], without: list[bool]) -> list[Bounds]:
        """Of a finished file the bounds of each column, but of those in ``without`` none."""

    def discard(self) -> None:
        """Free what is held; the file is of no use."""

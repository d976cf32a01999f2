"""FileRequest: the rows of one data file to read, and the number of rows and bytes to decode at once."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from paimon_core.arrow.byte_budget import BATCH_BYTES
from paimon_core.codec.arrays import Mask, Positions
from paimon_core.datafile.file_format import FileInput
from paimon_core.datafile.reading.read_counts import ReadCounts
from paimon_core.predicate import BoundPredicate


@dataclass(frozen=True, slots=True)
class FileRequest:
    """The rows to read of one file, by default all. ``batch_rows`` and the fields after it control the decoding."""

    where: BoundPredicate | None = None
    """A filter on columns that are read. Rows for which the filter is not true are left out.

    Other columns are decoded only where rows remain (``matching_rows``).
    """
    row_groups: list[int] | None = None
    """The only row groups to read, if the format has row groups; None: all."""
    rows: Mask | None = None
    """The rows of the file to read, instead of ``row_groups``; a row group that contains none of these rows is not
    decoded.
    """
    deleted: Positions | None = None
    """The sorted positions of the rows of the file to leave out; all positions are below the row count of the file."""
    position: str | None = None
    """The name of an additional column with the position of each row in the file."""
    encoded: Collection[str] = ()
    """Text columns that may be returned as dictionary arrays, in all batches of a file or in none."""
    batch_rows: int = 65536
    """The maximum number of rows of a batch."""
    batch_bytes: int = BATCH_BYTES
    """The approximate maximum size of a batch in bytes; a larger row gets its own batch.

    A dictionary column counts with the bytes of its decoded texts.
    """
    threads: bool = True
    """Whether columns are decoded in parallel."""
    counts: ReadCounts | None = None
    """Counts the opened files and the decoded row groups and rows."""
    held: FileInput | None = None
    """The file, if it was opened before (``reader.opened_together``)."""


ALL_ROWS = FileRequest()

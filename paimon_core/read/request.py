"""ReadRequest: the columns and rows to read of a split. A scan passes the request to the reader of each file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from paimon_core.datafile.reading.read_counts import ReadCounts
from paimon_core.predicate import Predicate
from paimon_core.read.damaged_files import DamagedFiles


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """The columns and the rows to read of a split, and settings of the read."""

    columns: Sequence[str]
    where: Predicate | None = None
    """The filter; ``read.pushdown`` divides it into parts."""
    limit: int | None = None
    """The number of rows that the caller needs; None: all rows. A read with a limit may still return more rows."""
    threads: bool = True
    """Decode columns in parallel; False when several splits are read at the same time."""
    ahead: bool = False
    """Decode a window of rows in a thread while the window before it is merged."""
    position: str | None = None
    """The name of an additional column with the position of each row in its file (raw splits only), or None."""
    damaged: DamagedFiles | None = None
    """Decides which damaged files the read leaves out, and records them; None: the error is raised."""
    counts: ReadCounts | None = None
    """Counts the opened files and row groups, and the decoded rows and bytes; None: nothing is counted."""

"""ReadRequest: what to read of a split. The same value goes from the scan to the reader of each file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from paimon_core.datafile.reading.read_counts import ReadCounts
from paimon_core.predicate import Predicate
from paimon_core.read.damaged_files import DamagedFiles


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """The columns and the rows to read of a split, and how."""

    columns: Sequence[str]
    where: Predicate | None = None
    """The filter; ``read.pushdown`` divides it into parts."""
    limit: int | None = None
    """The caller needs only this many rows, so that fewer are decoded at once; more may be returned."""
    threads: bool = True
    """Decode columns in parallel; False when several splits are read at the same time."""
    position: str | None = None
    """The name of an additional column with the position of each row of a raw split in its file."""
    damaged: DamagedFiles | None = None
    """Records the damaged files that the read leaves out."""
    counts: ReadCounts | None = None
    """Counts what is opened and decoded."""

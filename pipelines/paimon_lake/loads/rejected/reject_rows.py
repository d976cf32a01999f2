"""Reject rows: the columns of a table of rejects: a rejected row, the reason, the load, its time, the file version."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa

from paimon_lake.sources.files.rejects import REJECTS

ADDED = pa.schema([("load", pa.int64()), ("loaded_at", pa.timestamp("ms", "UTC")), ("version", pa.string())])
"""The number of the load, the time when it began, and the version of the file (null if it is not known)."""
REJECT_ROWS = pa.schema([*REJECTS, *ADDED])


@dataclass(frozen=True)
class Stamp:
    """The number and the begin of the load that rejects rows, which are stored with each reject."""

    number: int
    at: datetime

    def rows(self, rejects: pa.RecordBatch, version: str | None) -> pa.RecordBatch:
        """Return rejects of a file, or of another source, as rows of the table of rejects."""
        values = (self.number, self.at, version)
        added = [pa.repeat(pa.scalar(v, f.type), len(rejects)) for v, f in zip(values, ADDED, strict=True)]
        return pa.RecordBatch.from_arrays([*rejects.columns, *added], schema=REJECT_ROWS)

"""ReadCounts: counts the files, row groups and rows that a read opens and decodes; the readers of data files increase
the counts.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class ReadCounts:
    """The counts of one read; each thread must use its own object."""

    files_opened: int = 0
    files_skipped: int = 0
    """Files that were left out after the file or its index file had been opened."""
    sections_skipped: int = 0
    """Sections that were not merged, because none of their files contains a row that the filter selects."""
    row_groups: int = 0
    """The row groups of the opened files."""
    row_groups_read: int = 0
    """The row groups of which at least one column was decoded."""
    rows_decoded: int = 0
    """Rows of which at least one column was decoded."""
    values_decoded: int = 0
    """The number of decoded values: the sum of the decoded rows of all columns."""
    bytes_decoded: int = 0
    """The bytes in memory of the decoded columns."""
    rows_returned: int = 0
    columns: dict[str, int] = field(default_factory=dict)
    """The decoded columns, with the number of values of each."""

    def add_decoded(self, column: str, rows: int, size: int) -> None:
        """Count some values of a column."""
        self.columns[column] = self.columns.get(column, 0) + rows
        self.values_decoded += rows
        self.bytes_decoded += size

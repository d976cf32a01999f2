"""Known deletes: decides whether the recorded number of deletes in a file is reliable (format 4.3).

pypaimon 2.1 takes row kinds from the column that option ``rowkind.field`` names, but records 0 deletes for each file
that it writes. So in a table with this option, a recorded 0 is trusted only for files that a compaction wrote, because
pypaimon does not compact.
"""

from __future__ import annotations

from paimon_core.metadata.data_file import DataFile, FileSource
from paimon_core.options import TableOptions


def records_deletes(options: TableOptions) -> bool:
    """Whether every writer of the table records how many rows of kind -U and -D a file contains."""
    return options["rowkind.field"] is None


def has_no_deletes(file: DataFile, options: TableOptions) -> bool:
    """Whether the file is known to contain no row of kind -U or -D; False when the number is not known."""
    return file.delete_row_count == 0 and (records_deletes(options) or file.file_source is FileSource.COMPACT)

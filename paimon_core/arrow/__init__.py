"""Input: opens the data that a caller passes and converts it to the columns of a table's schema.

`streams` opens data as Arrow tables, `python_rows` converts dicts, `forms` and `conform` convert and check columns.

Core functions:

- ``conform``: converts a table of data to the columns of a schema
- ``read_tables``: opens data of any accepted form as Arrow tables
- ``table_of_rows``: converts dicts to a table
- ``decoded_bytes``: the size of data with decoded dictionary columns; it limits the size of batches
"""

from paimon_core.arrow.conform import conform, one_nan
from paimon_core.arrow.forms import labelled, loose
from paimon_core.arrow.inferred_fields import merged_table
from paimon_core.arrow.python_rows import gaps, table_of_rows
from paimon_core.arrow.streams import GATHER_BYTES, Convert, gather, open_stream, read_tables

__all__ = [
    "GATHER_BYTES",
    "Convert",
    "conform",
    "gaps",
    "gather",
    "labelled",
    "loose",
    "merged_table",
    "one_nan",
    "open_stream",
    "read_tables",
    "table_of_rows",
]

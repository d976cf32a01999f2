"""Files as a source: list files, cut them into splits, and read them as rows of a table and rejects.

The package uses neither Spark nor Dagster: tasks call `read_split`, and all arguments and results can be pickled.

Core types:

- ``FileFormat``: the format of files and its options
- ``SourceFile``: a listed file: path, size, version, partition
- ``FileSplit``: a range of a file that a task reads
- ``RowRules``: the rules for rows in addition to the types, such as the columns that must not be null
- ``Parsed``: the rows and rejects of one block
- ``Reject``: a row that does not fit, with its reason
"""

from paimon_lake.sources.files.columns import RowRules, table_schema
from paimon_lake.sources.files.formats import FileFormat, file_format
from paimon_lake.sources.files.inference import infer_columns
from paimon_lake.sources.files.listing import SourceFile, list_files, partition_files
from paimon_lake.sources.files.pattern import PathPattern, parse_pattern
from paimon_lake.sources.files.reading import read_split
from paimon_lake.sources.files.rejects import REJECTS, Parsed
from paimon_lake.sources.files.splits import FileSplit, pack, plan_splits

__all__ = [
    "REJECTS",
    "FileFormat",
    "FileSplit",
    "Parsed",
    "PathPattern",
    "RowRules",
    "SourceFile",
    "file_format",
    "infer_columns",
    "list_files",
    "pack",
    "parse_pattern",
    "partition_files",
    "plan_splits",
    "read_split",
    "table_schema",
]

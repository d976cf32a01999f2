"""Files of other programs, read by Python tasks and written to a table; no row passes through the JVM.

Core types and functions:

- ``write_files_spark``: writes Parquet, ORC, CSV and JSON files to a table in one commit
- ``FileFormat``: the kind of the files and its options
- ``FileSplit``: the part of a file that one task reads
- ``read_split``: reads a split as rows of a table
"""

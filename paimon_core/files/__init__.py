"""Files of other programs (Parquet, ORC, CSV, JSON), read as rows of a table with Arrow.

Core types and functions:

- ``FileFormat``: the kind of the files and its options
- ``FileSplit``: a part of a file; ``list_files`` and ``cut_files`` make the splits of paths
- ``read_split``: reads a split as rows of a table
"""

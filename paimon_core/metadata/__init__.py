"""The metadata of a table: snapshots, manifests, data files, tags, statistics, and `TableContext`.

The modules of this package define the values; `stores` reads and writes them; `rules` checks the options of new tables.
`stores.schema_store` detects a dropped table when the table is opened; `table_identity` detects it when an open handle
of the table is used.

Core types:

- ``TableContext``: a table as operations receive it: storage, paths, schema, options, stores
- ``Snapshot``: one committed version
- ``DataFile``: a data file with its statistics
- ``ColumnStats``: minima, maxima and null counts of columns
- ``CommitMessage``: the files that a commit adds to and deletes from one bucket
"""

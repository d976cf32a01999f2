"""The metadata of a table: snapshots, manifests, data files, tags, statistics, and `TableContext`.

The modules of this package define the values; `stores` reads and writes them; `rules` checks the options of new tables.
When a table is opened, `stores.schema_store` detects that it was dropped; when an open handle is used, `table_identity`
detects this.

Core types:

- ``TableContext``: a table as operations receive it: storage, paths, schema, options, stores
- ``Snapshot``: one committed version
- ``DataFile``: a data file with its statistics
- ``ColumnStats``: minima, maxima and null counts of columns
- ``CommitMessage``: the files that a commit adds to and deletes from one bucket
"""

"""`Table`, the object that users hold: reading, writing, tags, branches and maintenance of one table.

Methods check their arguments and call the layers below.

Core types:

- ``TableView``: reads a table, at its latest version or pinned to one
- ``WritableTable``: adds the methods that write rows and commit
- ``Table``: adds maintenance: compaction, tags, branches, expiry, schema changes
- ``Inspect``: the system tables of metadata
- ``CommitRequest``: one call that commits: the table, the author and the settings
"""

"""`Table`, the object that users hold: reading, writing, tags, branches and maintenance of one table.

Methods check their arguments and call the layers below.

Core types:

- ``Table``: reads and changes a table
- ``TableView``: reads a table
- ``Inspect``: the system tables of metadata
- ``CommitRequest``: one call that commits: the table, the author and the settings
"""

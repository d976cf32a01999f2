"""`Table`, the object that users hold: reading, writing, tags, branches and maintenance of one table.

Methods check their arguments and call the rooms: `writes`, `rows`, `stream`, `changes`, `refs`, `upkeep` and `system`.

Core types:

- ``TableView``: reads a table, at the latest snapshot or pinned to one
- ``Table``: a view that also writes; its methods that write rows are in ``WritableTable``
- ``Inspect``: the system tables of metadata
- ``CommitRequest``: one call that commits: the table, the author and the settings; ``Committed`` is its result
"""

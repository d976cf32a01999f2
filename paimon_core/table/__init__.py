"""`Table`, the object that users hold: reading, writing, tags, branches and maintenance of one table.

Methods check their arguments and call functions of the sub-packages `writes`, `rows`, `stream`, `changes`, `refs`,
`upkeep` and `system`.

Core types:

- ``TableView``: reads a table at its latest snapshot, or at the snapshot to which the view is pinned
- ``Table``: a view that also writes; its methods that write rows are in ``WritableTable``
- ``Inspect``: the system tables of metadata
- ``CommitRequest``: the table, the author and the settings of one commit; ``Committed`` is the result of the commit
"""

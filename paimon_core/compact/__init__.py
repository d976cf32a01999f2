"""Compaction of one bucket: picks what to compact and rewrites the files (format 8).

Import `pick_tasks` and `run_tasks`; a `CompactionTask` is a value that can be sent to another process. `pick`
asks `lsm.compaction` whether a compaction of a table with a primary key is due, and `append` for other tables.

Core types and functions:

- ``CompactionTask``: the files of one bucket to compact; it can be sent to another process
- ``AppendUnit``: files of an append table that are rewritten together
- ``SortOrder``: the order that a sort compaction or clustering writes
- ``ChangelogProducer``: merges a section and returns the changes of its rows
- ``pick_tasks``: chooses what to compact
- ``run_tasks``: rewrites the files of tasks
"""

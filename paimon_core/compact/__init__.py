"""Compaction (format 8): picks what to compact in each bucket, rewrites the files, commits and reports what was done.

`compaction.compact` does all of it and returns a `CompactReport`. `planning.plan` returns the `CompactionTask`s to do,
values that can be sent to another process; `compactor.run_tasks` runs them. `pick` asks `lsm.compaction` whether a
compaction of a table with a primary key is due, and `append` for other tables.

Core types and functions:

- ``CompactionTask``: the files of one bucket to compact
- ``CompactReport``: what was picked, rewritten and committed
- ``AppendUnit``: files of an append table that are rewritten together
- ``SortOrder``: the order that a sort compaction or clustering writes
- ``ChangelogProducer``: merges a section and returns the changes of its rows
- ``compact``: picks, rewrites and commits
- ``pick_tasks``: chooses what to compact
- ``run_tasks``: rewrites the files of tasks
"""

"""Compaction (format 8): picks what to compact in each bucket, rewrites the files, commits and reports what was done.

`compaction.compact` does all of it and returns a `CompactReport`. `planning.plan` returns the `CompactionTask`s to do,
values that can be sent to another process; `compactor.run_tasks` runs them. `pick` asks `lsm.compaction` whether a
compaction of a table with a primary key is due, and `append` for other tables.
"""

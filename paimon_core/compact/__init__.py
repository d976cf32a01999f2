"""Compaction (format 8): picks the files to compact in each bucket, rewrites and commits them, and returns a report.

`compaction.compact` does all these steps and returns a `CompactReport`. `planning.plan` returns `CompactionTask`s,
which can be sent to another process; `compactor.run_tasks` runs the tasks, and `parts` divides the tasks of large
buckets. For a table with a primary key, `pick` calls `lsm.compaction` to decide whether a compaction is due; for an
append table, it calls `append`.

Core types and functions:

- ``CompactionTask``: the files of one bucket to compact
- ``CompactionPart``: a range of keys of a task of a large bucket
- ``CompactReport``: the tasks, the committed snapshots and the counts of a compaction
- ``AppendUnit``: files of an append table that are rewritten together
- ``SortOrder``: the order that a sort compaction or clustering writes
- ``ChangelogProducer``: merges a section and returns the changes of its rows
- ``compact``: picks, rewrites and commits
- ``pick_tasks``: chooses the buckets and files to compact
- ``run_tasks``: rewrites the files of tasks
- ``run_divided``: rewrites the files of tasks in several processes, which share large buckets
"""

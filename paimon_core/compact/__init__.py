"""Compaction of one bucket: picks what to compact and rewrites the files (format 8).

Import `pick_tasks` and `run_tasks`; a `CompactionTask` is a value that can be sent to another process. `pick`
asks `lsm.compaction` whether a compaction of a table with a primary key is due, and `append` for other tables.
"""

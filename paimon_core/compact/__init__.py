"""Compaction of one bucket: picks what to compact and rewrites the files (format 8).

Import `pick_tasks` and `run_tasks`; a `CompactionTask` is a value that can be sent to another process.
"""

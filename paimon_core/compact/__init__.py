"""Compaction of one bucket: what to compact, and the rewriting of its files (format 8).

Import `pick_tasks` and `run_tasks`; a `CompactionTask` is the value that travels between processes.
"""

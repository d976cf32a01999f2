"""Sensors: what requests runs: compactions, new files, stale partitions.

Core functions:

- ``files_sensor``: requests loads of tables with new files; ``TickResult`` is what it found for one table
- ``stale_sensor``: requests loads of stale partitions
- ``compaction_sensor``: requests compactions; ``Decision`` is what it decided for one table
"""

"""Sensors: request runs for compactions, for new files and for stale partitions.

Core functions:

- ``files_sensor``: requests loads of tables with new files; ``TickResult`` is its result for one table
- ``stale_sensor``: requests loads of stale partitions
- ``compaction_sensor``: requests compactions; ``Decision`` is its decision for one table
"""

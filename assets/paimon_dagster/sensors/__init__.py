"""Sensors: request runs for compactions, for new files, for changes of sources and for stale partitions.

Core functions:

- ``files_sensor``: requests loads of tables with new files; ``TickResult`` is its result for one table
- ``changes_sensor``: requests loads of tables that are behind their sources of changes, and reports their lag
- ``stale_sensor``: requests loads of stale partitions
- ``compaction_sensor``: requests compactions; ``Decision`` is its decision for one table
"""

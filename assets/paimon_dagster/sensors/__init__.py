"""Sensors: request runs for compactions, new files, changes of sources and stale partitions; report commits.

Core functions:

- ``files_sensor``: requests loads of tables with new files; ``TickResult`` is its result for one table
- ``changes_sensor``: requests loads of tables that are behind their sources of changes, and reports their lag
- ``stale_sensor``: requests loads of stale partitions
- ``commits_sensor``: reports commits that Dagster did not make as materializations
- ``compaction_sensor``: requests compactions; ``Decision`` is its decision for one table
"""

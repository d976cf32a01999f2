"""Inputs of derived tables: the changes of inputs, and the partitions that are stale because of these changes.

Core types and functions:

- ``InputChanges``: how an input changed after a snapshot
- ``InputLoad``: which snapshots of inputs a load read
- ``LoadedPartitions``: the newest load of each partition
- ``stale_now``: the stale partitions of a table
"""

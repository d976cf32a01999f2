"""Keyed loads: a part of a wide table whose rows get their key from a mapping table.

Core types and functions:

- ``KeyedLoads``: plans the loads of a part with ``key_from``
- ``KeyedRows``: the values that a task needs to find the changed rows of the wide table
- ``NetChanges``: how the row of each key differs between two snapshots of a table
- ``find_all``: finds all rows of a cached table with given values, by an index
"""

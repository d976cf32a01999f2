"""The sections of the declaration of a table.

Core types:

- ``ColumnSpec``: the type and the comment of a column
- ``UniqueCheck``, ``RangeCheck``, ``SqlCheck`` and others: the rules for the rows
- ``Partitions``: how loads are divided
- ``Rejects``: which share of the rows may be rejected
- ``Sample``: the rows that Dagster may show
- ``Compaction``, ``Retention``: when a table is compacted, and what maintenance keeps
"""

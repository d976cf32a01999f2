"""Merge engines: how several rows of one key become one row (format 9).

`deduplicate`, `first_row`, `partial_update` and `aggregation` are the engines; `choice` creates the engine of a table.
Most of the other modules are parts of `partial_update`, such as `sequence_group` and `removals`.
"""

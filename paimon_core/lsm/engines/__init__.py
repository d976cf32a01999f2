"""Merge engines: how several rows of one key become one row (format 9).

`deduplicate`, `first_row`, `partial_update` and `aggregation` are the engines; `engine_choice` creates the engine of a
table. Most of the other modules are parts of `partial_update`, such as `sequence_group` and `removals`.

Core types and functions:

- ``MergeEngine``: the protocol of all engines
- ``Deduplicate``: keeps the last row of a key
- ``FirstRow``: keeps the first row
- ``PartialUpdate``: keeps the last values of each column, by sequence groups
- ``Aggregation``: folds each column by its function
- ``merge_engine``: returns the engine of a table
"""

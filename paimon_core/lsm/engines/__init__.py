"""Merge engines: the rules that combine several rows of one key into one row (format 9).

`deduplicate`, `first_row`, `partial_update` and `aggregation` are the engines; `engine_choice` creates the engine of a
table. Most of the other modules are parts of `partial_update`, such as `sequence_group` and `removals`.

Core types and functions:

- ``MergeEngine``: the protocol of all engines
- ``Deduplicate``: keeps the last row of a key
- ``FirstRow``: keeps the first row
- ``PartialUpdate``: keeps the last values of each column, by sequence groups
- ``Aggregation``: combines the values of each column by its aggregate function
- ``merge_engine``: returns the engine of a table
"""

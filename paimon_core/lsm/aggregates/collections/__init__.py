"""Aggregate functions of arrays, maps, nested rows and joined texts (format 9.7).

Core types:

- ``Entries``: the elements of arrays or maps as flat columns with their rows
- ``Collect``: arrays of all elements
- ``MergeMap``: maps of the last values
- ``NestedUpsert``: arrays of rows with the last row of each nested key
- ``ListAgg``: joined texts
"""

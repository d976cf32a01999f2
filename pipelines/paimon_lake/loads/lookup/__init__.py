"""Lookups: columns of a load that are taken from other tables of the lake.

Core types and functions:

- ``Segment``: rows of a dimension in mapped files, found by their key
- ``Dimension``: a dimension at one snapshot; ``open_dimension`` returns its rows from the cache of the process
- ``Lookups``: the values that the tasks of a load need to look up columns
- ``TaskLookups``: looks up the columns of the rows of one task
- ``LookupLoads``: a source of rows with looked-up columns
- ``publish_waiting``: commits the waiting rows of a load after the load
"""

"""Upkeep of a table: rescale, statistics, expiry and ``table.maintenance``.

Core types and functions:

- ``Maintenance``: ``table.maintenance``: plans and clean-ups
- ``Expiry``: the expiries of ``table.maintenance``
- ``rescale``: gives partitions another number of buckets
- ``analyze``: computes the statistics of a table
"""

"""Upkeep of a table: rescale, statistics, expiry and ``table.maintenance``.

Core types and functions:

- ``Maintenance``: the value of ``table.maintenance``: plans and applies clean-ups
- ``Expiry``: the methods of ``table.maintenance`` that expire something
- ``rescale``: gives partitions another number of buckets
- ``analyze``: computes the statistics of a table
"""

"""Checks of data files, with their rows, statistics, indexes and keys.

Core types:

- ``Buckets``: checks the levels and key ranges of buckets
- ``StatsCheck``: compares the rows of a file with its statistics
- ``IndexCheck``: compares the rows of a file with its file indexes
- ``Fingerprint``: a count and a hash of the rows of a bucket
"""

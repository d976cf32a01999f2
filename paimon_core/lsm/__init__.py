"""LSM tree: sorted runs, merging by key windows and the write buffer of one bucket (format 8).

No module of this package reads or writes storage.

Core types and functions:

- ``SortedRun``: files whose key ranges do not overlap
- ``Section``: the files of one key interval
- ``Levels``: the files of a bucket by level
- ``Groups``: row positions sorted by key and in merge order; the rows of each key are one group
- ``Versions``: the rows of groups by their place, so that all groups are combined at once
- ``MergeOrder``: the order of the rows of one key
- ``WriteBuffer``: sorts and merges rows in memory before they become a file
- ``RowComparison``: merges rows and computes the changelog rows
- ``merge_runs``: merges runs by key windows
"""

"""LSM tree: sorted runs, merging by key windows and the write buffer of one bucket (format 8).

No module here reads or writes storage.

Core types and functions:

- ``SortedRun``: files whose key ranges do not overlap
- ``Section``: the files of one key interval
- ``Levels``: the files of a bucket by level
- ``Groups``: rows in the order of keys and merge order, with the boundaries of the groups of one key
- ``MergeOrder``: how the rows of a key are ordered
- ``WriteBuffer``: sorts and merges rows in memory before they become a file
- ``RowComparison``: merges rows and returns how they changed
- ``merge_runs``: merges runs by key windows
"""

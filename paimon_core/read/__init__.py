"""Reading splits: rows of data files, merged where several files may hold one key.

Import `read_split` and `read_changes`; compaction uses `BucketReader` and `LookupReader`.
"""

"""Reading splits: the rows of data files, merged where several files may contain the same key.

Import `read_split` and `read_changed_file`; compaction uses `BucketReader` and `LookupReader`.
"""

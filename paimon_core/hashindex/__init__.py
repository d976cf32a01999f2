"""Dynamic buckets: hash index files, and the assignment of keys to buckets (format 11.1).

Import `PartitionBuckets`, `read_hashes` and `write_hashes`.
"""

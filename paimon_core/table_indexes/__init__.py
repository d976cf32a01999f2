"""Table indexes: the files of deletion vectors and of hash indexes (format 11.1, 12).

Core types and functions:

- ``KeyIndex``: gives each key a number
- ``PartitionBuckets``: the buckets of the keys of a partition
- ``encode_vector``: encodes a deletion vector
- ``read_vector``: reads the deletion vector of a file
- ``read_hashes``: reads a hash index file
"""

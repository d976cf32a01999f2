"""Table indexes: the files of deletion vectors and of hash indexes (format 11.1, 12).

Core types and functions:

- ``KeyIndex``: maps each key to a number
- ``PartitionBuckets``: maps each key of a partition to its dynamic bucket
- ``encode_vector``: encodes a deletion vector
- ``read_vector`` (in `vector_file`): reads the deletion vector of a data file
- ``read_hashes``: reads a hash index file
"""

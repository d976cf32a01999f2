"""Writing: turn rows into data files and commit messages, within one write buffer (format 7, 14.1).

Import `TableWriter`.

Core types and functions:

- ``TableWriter``: writes rows to files and returns commit messages
- ``assign_buckets``: computes the bucket of each row; ``codec.binary_row.bucket_hash`` computes the hash of the row
- ``BucketWriter``: writes the rows of one bucket
- ``BucketAssigner``: assigns keys to dynamic buckets
- ``PartitionAssigner``: assigns keys to partitions, for cross-partition upsert
- ``SequenceNumbers``: determines the next sequence number of each bucket
- ``SpillSpace``: stores sorted runs on local disk
- ``BatchWriter``: stores the batches of a run, made smaller where this costs little
- ``PostponeWriter``: writes rows whose bucket is chosen later
"""

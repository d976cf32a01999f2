"""Writing: turn rows into data files and commit messages, within one write buffer (format 7, 14.1).

Import `TableWriter`.

Core types:

- ``TableWriter``: writes rows to files and returns commit messages
- ``BucketWriter``: writes the rows of one bucket
- ``BucketAssigner``: assigns keys to dynamic buckets
- ``PartitionAssigner``: assigns keys to partitions, for cross-partition upsert
- ``SequenceNumbers``: determines the next sequence number of each bucket
- ``SpillSpace``: stores sorted runs on local disk
- ``PostponeWriter``: writes rows whose bucket is chosen later
"""

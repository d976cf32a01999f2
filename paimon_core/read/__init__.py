"""Reading splits: the rows of data files, merged where several files may contain the same key.

Import `read_split` and `read_changed_file`; compaction uses `BucketReader` and `LookupReader`.

Core types and functions:

- ``ReadRequest``: the columns and rows to read of a split; the scan passes the request to the reader of each file
- ``BucketReader``: reads the files of a bucket, merged by key
- ``SectionMerge``: the merge of a section, with the columns that the merge decodes
- ``LookupReader``: finds keys in levels above 0
- ``Pushdown``: a filter, divided into the parts that are tested before, during and after decoding
- ``PlacedColumns``: columns whose values come from the split, not from its files
- ``DamagedFiles``: the damaged files that a read leaves out
- ``read_split``: reads a split
- ``read_together``: reads many small splits, whose rows are merged and filtered at once
"""

"""Planning of reads: from a snapshot and a filter to splits, without reading rows (format 8.7, 8.8).

Import `plan_scan`. `prune` tests manifests and files against the filter; `split` packs the remaining files into splits,
and leaves out sections (files with overlapping key ranges) in which no file may match. A `Split` can be sent to another
process.

Core types and functions:

- ``Split``: the unit of reading: files of one bucket
- ``LiveFiles``: the live files that pass the tests of partitions, buckets and keys
- ``EntryTable``: manifest entries as columns, for pruning
- ``Pruners``: the tests that drop manifests, partitions and files
- ``ScanExplanation``: the files that a plan reads and the files that it leaves out, with the reasons
- ``plan_scan``: plans a read
"""

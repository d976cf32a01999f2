"""Planning of reads: from a snapshot and a filter to splits, without reading rows (format 8.7, 8.8).

Import `plan_scan`. `prune` tests manifests and files against the filter; `split` packs the rest, and skips sections
without a file that may match. A `Split` can be sent to another process.
"""

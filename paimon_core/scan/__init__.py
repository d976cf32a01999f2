"""Planning of reads: from a snapshot and a filter to splits, without reading rows (format 8.7, 8.8).

Import `plan_scan`. A `Split` can be sent to another process.
"""

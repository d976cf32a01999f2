"""Rules: functions that read the facts of a table and yield findings.

Core types and functions:

- ``many_sorted_runs`` and the other functions of ``FILE_RULES``: rules about data files
- ``hot_bucket`` and the other functions of ``BUCKET_RULES``: rules about partitions and buckets
- ``no_expiry`` and the other functions of ``HISTORY_RULES``: rules about what holds old files
- ``unindexed_filters`` and the other functions of ``FILTER_RULES``: rules about the filters that scans recorded
- ``many_manifests`` and the other functions of ``METADATA_RULES``: rules about manifests, indexes and options
"""

"""Manifests: the records and files of manifests, and manifest entries as columns (format 4).

Core types:

- ``ManifestFile``: the record of a manifest in a manifest list, with the ranges of its partitions, buckets and levels
- ``ManifestEntry``: a data file that is added or deleted
- ``EntryColumns``: many entries as columns
- ``IndexEntry``: an index file of one bucket
"""

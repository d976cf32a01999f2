"""Manifests: the records and files of manifests, and manifest entries as columns (format 4).

Core types:

- ``ManifestFile``: a manifest in a manifest list, with its ranges
- ``ManifestEntry``: a data file that is added or deleted
- ``EntryColumns``: many entries as columns
- ``IndexEntry``: an index file that is added or deleted
"""

"""Manifests: their records, their files, and their entries as columns (format 4).

Core types: ``ManifestFile``, ``ManifestEntry``, ``EntryColumns``, ``IndexEntry``.
"""

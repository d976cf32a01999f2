"""Expires snapshots, changelogs, partitions and consumers (format 16)."""

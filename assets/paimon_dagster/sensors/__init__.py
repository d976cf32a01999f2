"""Sensors: what requests runs: compactions, new files, stale partitions."""

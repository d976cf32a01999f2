"""Upkeep of a table: compaction, rescale, statistics, expiry and ``table.maintenance``."""

"""Inputs of derived tables: their changes, and the partitions that are stale because of them."""

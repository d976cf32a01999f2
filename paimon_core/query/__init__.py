"""Queries: ``Scan``, the read of one version of a table, with its counts, extremes and explanations."""

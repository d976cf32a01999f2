"""Queries: ``Scan``, the read of one version of a table, with its counts, extremes and explanations.

Core types:

- ``Scan``: a read of one version of a table, with its counts, extremes and explanations
- ``FallbackScan``: a scan of two branches
- ``RowExplanation``: how the row of a key was merged
"""

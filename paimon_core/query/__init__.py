"""Queries: ``Scan``, the read of one version of a table, with its counts, extremes and explanations.

Core types:

- ``Scan``: a read of one version of a table, with its counts, extremes and explanations
- ``ScanDescription``: the columns, filter, limit and snapshot of a scan; counts and explanations take it
- ``RowsSource``: where the rows of a scan come from
- ``PlannedRows``: the rows of the splits of a plan
- ``FallbackRows``: the rows of two branches
- ``RowExplanation``: how the row of a key was merged
"""

"""Queries: what a scan reads, its rows, counts and extremes, and its explanations.

Core types:

- ``ScanDescription``: what a scan reads: version, columns, filter, limit
- ``Scan``: the description with the methods that read it
- ``RowsSource``: where the rows of a scan come from; ``PlannedRows`` reads the splits of a plan
- ``FallbackRows``: the rows of two branches
- ``RowExplanation``: how the row of a key was merged
"""

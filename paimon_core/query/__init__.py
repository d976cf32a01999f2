"""Queries: what a scan reads, its rows, counts and extremes, and its explanations.

Core types:

- ``ScanDescription``: the version, columns, filter and limit of a scan
- ``Scan``: a scan description with the methods that read the rows
- ``RowsSource``: protocol of the sources of the rows of a scan; the source ``PlannedRows`` reads the splits of a plan
- ``FallbackRows``: the source of the rows of two branches
- ``RowExplanation``: how the row of a key was merged
"""

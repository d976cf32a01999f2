"""Queries: descriptions of scans; the rows, counts and extremes that a scan returns; explanations of scans.

Core types:

- ``ScanDescription``: the version, columns, filter and limit of a scan
- ``Scan``: a scan description with the methods that read the rows
- ``RowsSource``: protocol of the sources of the rows of a scan; the source ``PlannedRows`` reads the splits of a plan
- ``FallbackRows``: the source of the rows of two branches
- ``RowExplanation``: how the row of a key was merged
"""

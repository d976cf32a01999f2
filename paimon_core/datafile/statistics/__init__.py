"""Statistics of data files: bounds and null counts of columns, and the modes that choose which are kept (format 4.5).

Core types:

- ``ColumnBounds``: collects the bounds of a column while rows are written
- ``ValueStats``: encodes the statistics of the value columns of a file
- ``StatsEncoder``: encodes minima, maxima and null counts
"""

"""File indexes: the bytes of Paimon's indexes of one data file, and the rows that a filter can match (format 13).

The package works on bytes and columns only. ``datafile`` writes the indexes; ``plan`` and ``read`` use the indexes.

Core types and functions:

- ``IndexBuilder``: builds the indexes of a file while rows are written
- ``FileIndex``: the parsed container of all indexes of a file
- ``BitmapIndex``: the rows of each value
- ``RangeBitmap``: the rows of ranges of values
- ``Keys``: the values of a column in the form that indexes use
- ``matching_rows``: the rows that a filter can match, by the indexes
"""

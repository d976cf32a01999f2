"""Deletion vectors: the positions of deleted rows of data files, as bitmaps in index files (format 12).

Positions are 0-based row ordinals of a data file, sorted in numpy arrays of int64.
"""

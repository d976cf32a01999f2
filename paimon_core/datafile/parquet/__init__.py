"""Parquet: data files, footers and their checks, and features that Arrow's Parquet library lacks (format 7.7).

Core types:

- ``ParquetInput``: reads a file
- ``ParquetOutput``: writes a file
- ``CheckedFooter``: a footer that was checked before Arrow opened it
- ``DecodedSizes``: how many bytes the columns of row groups take when they are decoded
"""

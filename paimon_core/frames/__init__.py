"""Frames: scans as a pyarrow dataset, a polars LazyFrame, a DuckDB relation and pandas; these packages are optional.

Core types and functions:

- ``Source``: protocol of the operations of a scan that the frames use
- ``PaimonDataset``: a scan as a pyarrow dataset
- ``lazy_frame``: a scan as a polars LazyFrame
- ``register``: a scan as a relation of DuckDB
"""

"""Frames: scans as a pyarrow dataset, a polars LazyFrame, a DuckDB relation and pandas; these packages are optional.

Core types and functions:

- ``Source``: what a scan must offer to be shown as a frame
- ``PaimonDataset``: a scan as a pyarrow dataset
- ``lazy_frame``: a scan as a polars LazyFrame
- ``register``: a scan as a relation of DuckDB
"""

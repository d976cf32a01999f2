"""Frames: scans as a pyarrow dataset, a polars LazyFrame, a DuckDB relation and pandas; these packages are optional."""

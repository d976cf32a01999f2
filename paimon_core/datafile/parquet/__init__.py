"""Parquet: data files, footers and their checks, and features that Arrow's Parquet library lacks (format 7.7)."""

"""Parquet: files, footers and their checks, and what Arrow's Parquet library lacks (format 7.7)."""

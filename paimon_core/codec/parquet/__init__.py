"""Parquet: footers and page headers of untrusted files, checked before Arrow reads them (format 7.7)."""

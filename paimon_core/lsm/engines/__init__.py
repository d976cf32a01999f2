"""Merge engines: how several rows of one key become one row (format 9)."""

"""Aggregate functions of arrays, maps, nested rows and joined texts (format 9.7)."""

"""Aggregate functions whose values are sketches or bitmaps, and their forms in bytes (format 9.6)."""

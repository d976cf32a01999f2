"""Removes files that no snapshot, tag or changelog refers to, by way of a quarantine (format 16.6)."""

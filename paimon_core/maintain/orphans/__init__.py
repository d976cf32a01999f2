"""Removes files that no snapshot, tag or changelog references; they are kept in a quarantine first (format 16.6)."""

"""Rolls a table back to an older snapshot, and keeps expiry and rollback apart (format 15.3)."""

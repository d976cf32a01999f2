"""Rolls a table back to an older snapshot, and coordinates rollback with a concurrent expiry (format 15.3)."""

"""Determines which files a table uses, which an expiry may delete, and what protects the rest (format 16.1, 16.6)."""

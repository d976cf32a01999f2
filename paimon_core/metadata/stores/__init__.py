"""Stores: each reads and writes one kind of metadata file of one table."""

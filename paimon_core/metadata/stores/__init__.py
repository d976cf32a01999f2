"""Stores: each module reads and writes one kind of metadata file of one table."""

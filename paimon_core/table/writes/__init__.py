"""Writes of a table: rows, overwrites, prepared commits, and what follows a commit.

Core types: ``CommitRequest``, ``Prepared``.
"""

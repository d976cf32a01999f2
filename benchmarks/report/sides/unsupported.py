"""Unsupported: an operation that a library does not have."""


class Unsupported(Exception):
    """The message says what is missing, for the report."""

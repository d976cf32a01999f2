"""Output: results of commands as text or as one JSON value.

Core types and functions:

- ``Output``: prints texts, tables and JSON
- ``print_rows``: prints rows of tables
"""

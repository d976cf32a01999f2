"""Commands on tables: list, describe, create, change, drop and rename them, and show their snapshots and files.

Core functions:

- ``add_tables``: adds the commands to the parser
- ``description``: what a table is, in JSON types
"""

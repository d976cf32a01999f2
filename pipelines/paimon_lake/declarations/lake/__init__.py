"""What a lake declares beside its tables.

Core types and functions:

- ``check_catalog``: checks the options of the catalog
- ``PostgresDatabase``: a database that is loaded from PostgreSQL
- ``TableGroup``: tables that are published together
- ``Maintenance``: the hours, limits and budget of maintenance
- ``function_of``: a Python function that a declaration names
"""

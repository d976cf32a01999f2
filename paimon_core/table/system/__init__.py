"""System tables: the metadata of a table, and its rows with their kinds, with Java's names, columns and values.

``docs/system-tables.md`` lists them. Columns that only this library has come after Java's columns.

Core types and functions:

- ``SystemTable``: a system table by its name
- ``SystemScan``: a read of a system table
- ``MetadataTable``: the fields and columns of a table of metadata
- ``system_table``: returns a system table of a table
"""

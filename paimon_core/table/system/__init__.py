"""System tables: the metadata of a table, and its rows with row kinds; names, columns and values are as in Java.

``docs/system-tables.md`` lists them. Columns that only this library has come after Java's columns.

Core types and functions:

- ``SystemTable``: one system table, which can be scanned
- ``SystemScan``: a read of a system table
- ``MetadataTable``: the columns of a system table of metadata, and the function that reads them
- ``system_table``: returns a system table of a table
"""

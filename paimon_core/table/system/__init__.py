"""System tables: the metadata of a table, and its rows with their kinds, with Java's names, columns and values.

``docs/system-tables.md`` lists them. Columns that only this library has come after Java's columns.
"""

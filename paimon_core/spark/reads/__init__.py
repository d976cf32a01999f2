"""Reads by Spark: DataFrames of tables, of changes and of system tables.

Core types and functions:

- ``read_spark``: reads a table as a DataFrame
- ``changes_spark``: reads the changes between two snapshots
- ``NativeRule``: decides which files Spark's own Parquet reader reads
- ``read_in_tasks``: reads splits in Python tasks, as a DataFrame of known size
- ``to_column``: translates a filter to a column of Spark
- ``SystemReader``: reads a system table: metadata on the driver, rows of the table in tasks
"""

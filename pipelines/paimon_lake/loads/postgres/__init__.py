"""Loads of tables that follow a table of PostgreSQL: a first copy, then the changes of its log.

Core types:

- ``PostgresChangesLoads``: plans the loads of one table
- ``StoredRows``: reads rows by key from the table, for values that the log does not repeat
"""

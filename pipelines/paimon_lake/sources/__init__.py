"""Sources of tables: files, queries over tables of the lake, functions of the user, databases, PostgreSQL logs, Kafka.

A source only reads rows and does not import from loads; ``paimon_lake.loads`` decides which rows are read, and commits
them.

Core types:

- ``Database``: a declared database
- ``UserStep``: the argument of a function that returns rows
- ``FetchStep``: the argument of a function that fetches files
- ``QueryResult``: the result of a query, and the inputs that it names
"""

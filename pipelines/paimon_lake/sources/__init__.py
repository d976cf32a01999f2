"""Sources of tables: files, queries over tables of the lake, functions of the user.

Each source reads rows and is independent of loads; ``paimon_lake.loads`` decides what is read and commits it.

Core types:

- ``Database``: a declared database
- ``UserStep``: what a function that returns rows receives
- ``FetchStep``: what a function that brings files receives
- ``QueryResult``: the result of a query, and the inputs that it names
"""

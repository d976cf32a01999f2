"""Sources of tables: files, queries over tables of the lake, functions of the user.

A source only reads rows and does not import from loads; ``paimon_lake.loads`` decides what is read and commits the
rows.

Core types:

- ``Database``: a declared database
- ``UserStep``: what a function that returns rows receives
- ``FetchStep``: what a function that brings files receives
- ``QueryResult``: the result of a query, and the inputs that it names
"""

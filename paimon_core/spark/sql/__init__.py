"""SQL: statements in Spark's dialect on the tables of a catalog.

A text is read completely by ``grammar`` before anything runs; ``parameters`` binds its values. Queries run in Spark, on
views of one snapshot of each table; ``changes`` runs UPDATE, DELETE and MERGE; other statements call the functions of
the library.

Core types and functions:

- ``session``: returns the ``SparkLake`` of a catalog
- ``SparkLake``: SQL, DataFrames and views of one catalog
- ``Names``: the databases and tables that a statement names
- ``frame``: the rows of a query
- ``Reference``: a table in a query, with the columns and conditions that its read can use
- ``Expression``: a value or condition of UPDATE, DELETE and MERGE
- ``View``: a temporary view that a statement created
- ``pushed``: the conditions of a query that a read can test
"""

"""UPDATE, DELETE and MERGE INTO: their conditions and new values as columns of Spark.

Core types and functions:

- ``update``, ``delete``, ``merge`` in ``changing``: run a statement
- ``Expression``: a value or condition, with each column found in the target or in the source
- ``NewValue``: a column or a field of a struct that a statement sets
- ``subqueries``: the tables that the subqueries of a condition read
"""

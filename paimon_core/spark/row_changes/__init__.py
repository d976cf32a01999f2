"""Row changes by Spark: update, delete and merge in Spark tasks; the driver plans and commits.

Core types and functions:

- ``update_spark``: sets columns of the rows that match a condition
- ``delete_spark``: deletes the rows that match a condition
- ``merge_spark``: merges a DataFrame into a table
- ``Condition``: the parts of a condition that this library and Spark evaluate
- ``SparkClauses``: the clauses of a merge
- ``row_messages``: writes a DataFrame of changes and returns the messages to commit

The signatures::

    update_spark(spark, table, set, where, *, user=None, identifier=None, properties=None)
    delete_spark(spark, table, where, *, user=None, identifier=None, properties=None)
    merge_spark(spark, table, source, on, *, when_matched=Update(), when_not_matched=Insert(),
                when_not_matched_by_source=None, user=None, identifier=None, properties=None)

``where``, ``set`` and the clauses take predicates and values of this library, and Columns of Spark. A Column names the
columns of the target ``x`` or ``target.x``, and the columns of the source ``source.x``. Conditions may also be texts of
Spark SQL.
"""

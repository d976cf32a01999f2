"""Row changes by Spark: update, delete and merge in Spark tasks; the driver plans and commits.

Core types and functions::

    update_spark(spark, table, set, where, *, user=None, identifier=None, properties=None)
    delete_spark(spark, table, where, *, user=None, identifier=None, properties=None)
    merge_spark(spark, table, source, on, *, when_matched=Update(), when_not_matched=Insert(),
                when_not_matched_by_source=None, user=None, identifier=None, properties=None)

Each returns the snapshot of its commit, or None when nothing changes.

- ``where`` and the conditions of clauses: a predicate of this library, or a text or a Column of Spark. A Column names
  columns of the target as ``x`` or ``target.x``, columns of the source as ``source.x``.
- ``set`` and the values of clauses map columns to a Column of Spark, to a literal (also a text), to ``col(name)`` for a
  column of the source, or to a function of Arrow tables, as in ``Table.update`` and ``Table.merge``.
- ``source``: a DataFrame; ``on``: the names of columns that the target and the source both have.
- Clauses are ``Update``, ``Delete`` and ``Insert`` of ``paimon_core``, one or a list of them.
"""

"""Writes by Spark: rows are sent to the tasks of their buckets, and the driver commits the files.

Core types and functions:

- ``write_spark``: writes a DataFrame
- ``write_files_spark``: writes files of other programs, which Python tasks read
- ``write_task``: writes the rows of one task of ``format("paimon")``
- ``direct_tasks``: whether the tasks of a DataFrame write their own rows to all buckets, without a shuffle
- ``place``: writes staged rows to their buckets
- ``KeyAssignment``: the dynamic buckets of all keys of a job
- ``routed_rows``: sends the rows of a DataFrame to the tasks of their buckets
- ``task_rows``: what the tasks get, and how they take the rows out of it
- ``padded``: rows with texts whose batches are bounded by a number of rows
- ``bucket_expression``: the bucket of a key as an expression of Spark SQL
- ``merged_for``: a table with the columns of a DataFrame added
"""

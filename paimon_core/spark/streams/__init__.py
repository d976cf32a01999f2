"""Structured Streaming: queries that read the changes of tables, and queries that write to tables.

Core types and functions:

- ``PaimonStreamReader``: reads changes (``readStream.format("paimon")``)
- ``PaimonStreamWriter``: commits batches exactly once (``writeStream.format("paimon")``)
- ``write_stream_spark``: writes batches with a shuffle, also in output mode ``update``
"""

"""The sources that a declaration may name, the keys of each source, and the rules for a table with such a source.

Core types:

- ``FilesSource``, ``SqlSource``, ``PythonSource``, ``DatabaseSource``, ``PostgresChangesSource``: in the module
  ``source``
- ``KafkaSource``: messages of Kafka
- ``LakeTableSource``: a table of the lake that fills a part, by the keys of a mapping table
- ``Lookup``: columns that the rows of a source get from another table of the lake
- ``Part``: a source that fills some columns of a wide table
"""

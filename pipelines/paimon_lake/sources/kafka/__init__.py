"""Kafka as a source: the offsets of topics, ranges of offsets, and messages as rows of a table and rejects.

The package uses neither Spark nor Dagster. Only ``connection`` imports the client library, when a client is first
needed.

Core types:

- ``Connection``: the servers and settings with which a client is opened
- ``Broker``: asks the cluster for topics and offsets
- ``Position``: up to which offset each partition is loaded
- ``OffsetRange``: offsets of one partition that a task reads
- ``Messages``: the messages of a range, a few megabytes at once
"""

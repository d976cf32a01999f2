"""Loads from topics of Kafka, in batches whose position the snapshots record.

Core types:

- ``KafkaLoads``: the loads of one table
- ``RangeReport``: the report of a task about one range of offsets
"""

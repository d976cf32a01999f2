"""Loads from topics of Kafka, in batches whose position the snapshots record.

Core types:

- ``KafkaLoads``: the loads of one table
- ``RangeReport``: what a task read of one range
"""

"""Encodings without storage: BinaryRow, Avro files, bucket hashes, partition texts and time formats.

Every module may be imported on its own; none knows tables.
"""

"""Encodings: BinaryRow, Avro files, bucket hashes, partition texts and time formats. They do no storage I/O.

Each module can be imported on its own; none depends on tables. `hashing` computes the bucket of a key.
"""

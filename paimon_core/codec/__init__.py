"""Encodings: BinaryRow, Avro files, roaring bitmaps, and the metadata of Parquet and ORC files. No storage I/O.

Each module can be imported on its own, and no module depends on tables. `binary_row.bucket_hash` computes the bucket of
a key.

Core functions:

- ``encode``: encodes positions as a roaring bitmap
- ``read_records``: reads a file of records: Avro, or another format in old tables
- ``write_columns``: writes records as a Parquet or ORC file
- ``partition_values``: the text of each partition value in directory names
"""

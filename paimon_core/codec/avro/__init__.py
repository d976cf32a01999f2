"""Avro container files: blocks, schemas and values of manifests and Avro data files (format 4.1).

Core types and functions:

- ``AvroReader``: reads the blocks of a file
- ``AvroWriter``: writes the blocks of a file
- ``Records``: the record schema whose fields ``decode_columns`` returns as columns
- ``count_values``: counts the values of a block before it is decoded
"""

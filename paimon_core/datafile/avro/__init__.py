"""Avro data files, and the schemas and decimals in them (format 7.10).

Core types and functions:

- ``AvroInput``: reads a file
- ``AvroOutput``: writes a file
- ``avro_schema``: the Avro schema of columns
"""

"""Avro data files, their schemas and decimals (format 7.10)."""

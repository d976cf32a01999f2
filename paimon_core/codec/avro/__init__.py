"""Avro container files: blocks, schemas and values of manifests and Avro data files (format 4.1)."""

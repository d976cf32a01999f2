"""Data files: rows to and from Parquet, ORC and Avro files, with statistics and schema evolution (format 7).

Import `read_batches` to read and `rolling_writer` to write. `parquet`, `orc` and `avro` are used by `formats` alone.
"""

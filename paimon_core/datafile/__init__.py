"""Data files: reads and writes Parquet, ORC and Avro files, with statistics and schema evolution (format 7).

Other packages import `read_batches` to read and `rolling_writer` to write; `formats` selects the format of a file.
"""

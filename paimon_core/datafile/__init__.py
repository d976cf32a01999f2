"""Data files: reads and writes Parquet, ORC and Avro files, with statistics and schema evolution (format 7).

Other packages import `read_batches` to read and `rolling_writer` to write; `formats` selects the format of a file.

Core types and functions:

- ``FileInput``: an open file to read, in any format
- ``FileOutput``: an open file to write, in any format
- ``FilePlan``: the format, compression and statistics of new files
- ``FileLayout``: the columns of new files
- ``open_file``: opens a file by its format
"""

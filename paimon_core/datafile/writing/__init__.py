"""Writing of data files: plans, layouts, statistics and the writer that starts the next file (format 7).

Core types and functions:

- ``RollingWriter``: writes rows and starts the next file at the target size
- ``ExternalPlaces``: chooses the directories of files outside of the table
- ``rolling_writer``: a writer of files of one bucket
"""

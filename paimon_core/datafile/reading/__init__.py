"""Reading of one data file: row groups, chosen rows, filters, decoding (format 7).

Core types and functions:

- ``FileRequest``: which rows of a file to read, and how much of it to decode at once
- ``ChosenRows``: the rows of a file to return
- ``Decoding``: an open file and what to read of it
- ``ReadCounts``: counts what a read opens and decodes
- ``read_batches``: reads the rows of a file as batches of the current schema
"""

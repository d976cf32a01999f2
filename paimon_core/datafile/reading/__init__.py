"""Reading of one data file: row groups, chosen rows, filters, decoding (format 7).

Core types and functions:

- ``FileRequest``: the rows of a file to read, and the number of rows and bytes to decode at once
- ``ChosenRows``: the rows of a file to return
- ``Decoding``: an open file and the request that states its rows to read
- ``ReadCounts``: counts the files, row groups and rows that a read opens and decodes
- ``read_batches``: reads the rows of a file as batches of the current schema
"""

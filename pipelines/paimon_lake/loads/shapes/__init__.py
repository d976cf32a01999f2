"""The shape of loaded rows: which columns of a source become which columns of a table, and how a table gets new ones.

Core types:

- ``RowShape``: how the columns of a file become the columns of a table
- ``FrameShape``: divides the rows of a query or a function into rows that fit their table and rejects
- ``TableAltered``: tells that a load altered its table and has to begin again
"""

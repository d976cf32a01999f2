"""Evolution: reads the columns of older files as columns of the current schema, by field id (format 2.3, 2.4).

Core types and functions:

- ``Source``: the column of a file from which one column of the result is read
- ``match_columns``: finds the source of each column
- ``find_cast``: returns the cast from one type to another
- ``default_value``: the default of a column, as a value of its type
"""

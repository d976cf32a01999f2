"""Grammar: the texts of statements; a text is parsed completely before any statement runs.

Core types and functions:

- ``Cursor``: the tokens of a statement, read from left to right
- ``parse``: the statement of a text
- ``Select``, ``Insert``, ``CreateTable`` and so on: the statements
- ``Query``: a part of a text, for Spark
- ``TableName``: the name of a table, with its position
"""

"""Catalogs: opens the catalog and table that the arguments name, and names the command that lists what exists.

Core functions:

- ``open_catalog_of``: the catalog that the arguments name
- ``table_of``: the table that the arguments name
- ``remedy``: the command that lists what exists
- ``unfinished_text``: the sentence on what a killed copy left
"""

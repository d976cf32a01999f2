"""Catalogs: databases and tables by name, stored in directories, a SQL database or a REST server.

Import `open_catalog` and `Catalog`; each kind of catalog has its own module.

Core types and functions:

- ``Catalog``: lists, creates, alters and drops tables, and opens them
- ``FilesystemCatalog``: a catalog of directories
- ``Definition``: the arguments of ``create_table`` that define the table
- ``Identifier``: the name of a table: database, table, branch
- ``open_catalog``: opens the catalog of a warehouse
"""

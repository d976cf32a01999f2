"""SQL catalogs: names in a SQL database, in the format of Paimon's JDBC catalog (format 14.9).

Core types:

- ``SqlCatalog``: the catalog of a SQL database
- ``SqlConnection``: a database by its URI
- ``SqlNames``: the tables of names and properties
- ``SqlLock``: locks tables for commits
"""

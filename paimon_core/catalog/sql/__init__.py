"""SQL catalogs: a SQL database stores the names of tables, in the format of Paimon's JDBC catalog (format 14.8).

Core types:

- ``SqlCatalog``: the catalog of a SQL database
- ``SqlConnection``: transactions on a SQL database that a URI names
- ``SqlNames``: the SQL tables with the names and properties of databases and tables
- ``SqlLock``: locks on tables, for commits and for changes of names
"""

"""Catalogs: databases and tables by name, stored in directories, a SQL database or a REST server.

Import `open_catalog` and `Catalog`; each kind of catalog has its own module.
"""

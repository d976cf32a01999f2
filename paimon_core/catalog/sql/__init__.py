"""SQL catalogs: names in a SQL database, in the format of Paimon's JDBC catalog (format 14.9).

Core types: ``SqlCatalog``, ``SqlConnection``, ``SqlNames``, ``SqlLock``.
"""

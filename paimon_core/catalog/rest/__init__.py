"""REST catalogs: names and snapshots of a Paimon REST server (format 14.9).

Core types: ``RestCatalog``, ``RestClient``, ``TableStore``, ``TokenStorage``.
"""

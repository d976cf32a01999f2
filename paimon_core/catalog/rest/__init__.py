"""REST catalogs: names and snapshots of a Paimon REST server (format 14.9).

Core types:

- ``RestCatalog``: the catalog of a Paimon REST server
- ``RestClient``: sends the requests, with their retries
- ``TableStore``: the options of object stores, with the credentials of a table
- ``TokenStorage``: forwards calls to a storage with valid credentials
"""

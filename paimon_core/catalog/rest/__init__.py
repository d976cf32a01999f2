"""REST catalogs: a Paimon REST server stores the names of tables and creates the snapshots (format 14.9).

Core types:

- ``RestCatalog``: the catalog of a Paimon REST server
- ``RestClient``: sends requests with the bearer token, and repeats requests that change nothing
- ``TableStore``: the options of object stores, with the credentials of a table
- ``TokenStorage``: a storage whose temporary credentials are renewed before they expire
"""

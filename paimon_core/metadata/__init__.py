"""The metadata of a table: snapshots, manifests, data files, tags, statistics, and `TableContext`.

The modules of this package define the values; `stores` reads and writes them; `rules` checks the options of new tables.
`stores.schema_store` recognises a dropped table when it is opened, `table_identity` when a handle is used later.
"""

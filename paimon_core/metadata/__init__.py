"""The metadata of a table: snapshots, manifests, data files, tags, statistics, and `TableContext`.

The values lie here, `stores` reads and writes them, `rules` checks the options of new tables.
"""

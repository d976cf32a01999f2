"""Loads of declared tables: one load is one commit, and each file, change or watermark is loaded exactly once.

``load_table`` is the entry; ``ledger`` is what a table's snapshots say about its loads (decision 0021).

Core types:

- ``LoadStep``: one attempt to load a table or some of its partitions
- ``PlannedLoad``: what a load will read, and how it writes
- ``TableSource``: plans the loads of one kind of source
- ``WriteResult``: what the tasks of a load wrote, not committed yet
- ``Replace``: which rows of the table a load replaces
"""

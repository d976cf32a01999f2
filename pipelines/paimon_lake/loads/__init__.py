"""Loads of declared tables: one load is one commit, and each file and each change of an input is loaded exactly once.

``load_table`` runs a load; the package ``ledger`` finds in the snapshots of a table what its loads have loaded
(decision 0021).

Core types:

- ``LoadStep``: one attempt to load a table or some of its partitions
- ``PlannedLoad``: the plan of a load: which rows it will read, and how it writes
- ``TableSource``: plans the loads of one kind of source
- ``WriteResult``: the files that the tasks of a load wrote, before they are committed
- ``Replace``: which rows of the table a load replaces
"""

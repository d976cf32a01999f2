"""The ledger: what the snapshots of a table say about its loads, and about lost rows.

Core types:

- ``Ledger``: what the loads of a table have loaded
- ``LoadSnapshot``: the snapshot of a load, with its properties
- ``LoadedFiles``: the loaded files and their versions
- ``Lost``: loads whose rows were lost
"""

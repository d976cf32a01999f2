"""The ledger: reads from the snapshots of a table which loads it has, and which rows were lost.

Core types:

- ``Ledger``: the files, rows or positions that the loads of a table have loaded
- ``LoadSnapshot``: the snapshot of a load, with its properties
- ``LoadedFiles``: the loaded files and their versions
- ``Lost``: loads whose rows were lost
"""

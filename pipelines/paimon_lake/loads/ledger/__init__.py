"""The ledger: what the snapshots of a table say about its loads, and about lost rows.

Core types: ``Ledger``, ``LoadSnapshot``.
"""

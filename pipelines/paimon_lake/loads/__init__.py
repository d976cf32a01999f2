"""Loads of declared tables: one load is one commit, and each file, change or watermark is loaded exactly once.

``load_table`` is the entry; ``ledger`` is what a table's snapshots say about its loads (decision 0021).
"""

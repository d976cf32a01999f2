"""Checks of the history: snapshots, references, compactions and changelogs.

Core types and functions:

- ``Step``: a snapshot and the files before and after it
- ``Replay``: sums changelogs since a known state, and compares the sum with the rows
- ``check_compaction``: checks that a compaction changed no row
"""

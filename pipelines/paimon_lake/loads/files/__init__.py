"""Loads of files: which files a load reads, and what its tasks report about them.

Core types:

- ``FileLoads``: plans loads of files
- ``FilePlan``: the files to load, and the files that are left out
- ``SplitReport``: what a task reports about a split
"""

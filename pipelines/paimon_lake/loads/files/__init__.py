"""Loads of files: select the files that a load reads, and collect the reports of its tasks.

Core types:

- ``FileLoads``: plans loads of files
- ``FilePlan``: the files to load, and the files that are left out
- ``SplitReport``: the report of a task about a split
"""

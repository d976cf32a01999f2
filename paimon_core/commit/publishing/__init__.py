"""Publishing: makes the prepared snapshot of a commit visible, exactly once, or says that its outcome is unknown.

Core types and functions:

- ``publish``: creates the file of a snapshot if its id is unused; this is the compare-and-set of a commit
- ``follows``, ``withdraw``: recognize and delete an orphaned snapshot, which is outside of the chain
- ``unknown_outcome``: the error of a publish whose snapshot may or may not exist
"""

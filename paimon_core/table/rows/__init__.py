"""Row changes: delete, update and merge.

Core types:

- ``Update``: a clause of a merge that sets columns; ``Delete`` and ``Insert`` are the other clauses
- ``Merge``: a merge: its clauses and its source
- ``MergeSource``: the rows of the source
- ``MergeChanges``: the rows that change, with their rows of the source and their clauses
- ``ChangedBucket``: the files of a bucket that a change rewrites
"""

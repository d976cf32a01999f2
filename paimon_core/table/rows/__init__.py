"""Row changes: delete, update and merge.

Core types and functions:

- ``delete``, ``update`` and ``merge``: the commits of the methods of ``Table``
- ``repeat_when_outdated``: reads again when a concurrent commit changed what was read
- ``Update``: a clause of a merge that sets columns; ``Delete`` and ``Insert`` are the other clauses
- ``Merge``: a merge: its clauses and its source
- ``MergeSource``: the rows of the source
- ``MergeChanges``: the rows that change, with their rows of the source and their clauses
- ``ChangedBucket``: the files of a bucket that a change rewrites
"""

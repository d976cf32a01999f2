"""Row changes: delete, update and merge.

Core types and functions:

- ``delete``, ``update`` and ``merge``: do the work of these methods of ``Table``
- ``repeat_when_outdated``: repeats a change when a concurrent commit has changed the rows that it read
- ``Update``: a clause of a merge that sets columns; ``Delete`` and ``Insert`` are the other clauses
- ``Merge``: one merge, with its clauses and its source
- ``MergeSource``: the rows of the source of a merge
- ``MergeChanges``: the rows of the table that change, each with its row of the source and its clause
- ``ChangedBucket``: the files of a bucket that a change rewrites
"""

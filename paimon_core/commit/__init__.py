"""Commits: from commit messages to the snapshot file that makes them visible (format 14).

Import `commit_changes` from `committer`. Maintenance also uses `base`, `retry` and `snapshot_chain`.

Core types and functions:

- ``Change``: the content of one planned snapshot: the files and indexes that it adds and deletes
- ``Base``: the snapshot that a commit builds on; it reads the manifests of this snapshot
- ``Assembly``: makes the next snapshot from a change and a base
- ``Numbering``: gives new rows sequence numbers that are higher than all numbers in their bucket
- ``Draft``: the manifests that an attempt has written for a snapshot that is not published yet
- ``OwnSnapshots``: the snapshots that a (user, identifier) has committed before, so that it commits exactly once
- ``Reads``: the partitions that a commit has read; a concurrent change of their rows is a conflict
- ``publish`` (in ``publishing``): creates the file of a snapshot if its id is unused, the compare-and-set of a commit
- ``commit_changes``: publishes the snapshots of changes, with retries

Errors: CommitConflict (plan again and retry), CommitStateUnknown (look for the snapshot before a retry), and
StorageError (nothing was committed).
"""

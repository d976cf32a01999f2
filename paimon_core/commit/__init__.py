"""Commits: from commit messages to the snapshot file that makes them visible (format 14).

Import `commit_changes` from `committer`. Maintenance also uses `base`, `retry` and `snapshot_chain`.

Core types and functions:

- ``Change``: a snapshot to be published: what it adds and deletes
- ``Base``: the snapshot that a commit builds on, and what is read of it
- ``Assembly``: makes the next snapshot from a change and a base
- ``Numbering``: gives new rows sequence numbers above all in their bucket
- ``Draft``: manifests that are written for a snapshot that is not published
- ``OwnSnapshots``: what a (user, identifier) has committed before: each commits exactly once
- ``Reads``: what a commit has read, so that it conflicts with later changes
- ``commit_changes``: publishes the snapshots of changes, with retries
"""

"""Commits: from commit messages to the snapshot file that makes them visible (format 14).

Import `commit_changes` and `commit` from `committer`. Maintenance also uses `base`, `retry` and `snapshot_chain`.
"""

"""Changes of a table between two versions: by changelog, by delta or by difference, and the proof that none is missing.

Import `Changes` and `changes_between` from `changes`, and `Diff` and `diff_between` from `diff`.
"""

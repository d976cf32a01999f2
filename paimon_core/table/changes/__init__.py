"""Changes of a table between two versions: by changelog, by delta or by difference; and a proof of their completeness.

Import `Changes` and `changes_between` from `changes`, and `Diff` and `diff_between` from `diff`.

Core types:

- ``Changes``: the changed rows between two versions
- ``Diff``: the difference of any two versions
- ``Segment``: snapshots whose changes are read in the same way
- ``Proof``: the result of a comparison of the changes with both versions
"""

"""Creates, renames, deletes and fast-forwards branches (format 15.2).

Core functions:

- ``create_branch``: creates a branch
- ``delete_branch``: deletes a branch; ``plan_branch_deletion`` shows which files would be removed
- ``fast_forward``: adds the snapshots of another branch to the current branch
- ``rename_branch``: renames a branch
"""

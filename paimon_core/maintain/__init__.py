"""Maintenance: expiry, tags, branches, rollback, removal of orphan files, repair.

Each sub-package contains one kind of operation. The sub-packages share `planning`, `references` and the modules in this
directory.

Core types and functions:

- ``Root``: a snapshot, tag or changelog whose files are in use
- ``WorkExecutor``: runs the long steps of a clean-up
- ``candidates``: the files that could be orphans
"""

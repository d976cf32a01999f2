"""Maintenance: expiry, tags, branches, rollback, removal of orphan files, repair.

Each sub-package is one kind of operation. They share `planning`, `references` and the modules of this directory.
"""

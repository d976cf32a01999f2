"""Maintenance: expiry, tags, branches, rollback, removal of orphan files, repair.

Each sub-package contains one kind of operation. They share `planning`, `references` and the modules in this directory.
"""

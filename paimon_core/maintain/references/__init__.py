"""Determines which files a table uses, which an expiry may delete, and what protects the rest (format 16.1, 16.6).

`used_files` lists all files in use, `removable_files` the files that become unused when snapshots or tags are deleted,
and `protected_files` keeps the ones that tags, other branches or changelogs reference.

Core types:

- ``Used``: all files in use
- ``Removal``: files to delete, data files first
- ``RemovableFiles``: collects files of deleted snapshots, and keeps the ones that are still referenced
"""

"""Determines which files a table uses, and which files an expiry may delete (format 16.1, 16.6).

`used_files` lists all files in use. `removable_files` lists the files that become unused when snapshots or tags are
deleted; `protected_files` removes from this list the files that tags, other branches or changelogs reference.

Core types:

- ``Used``: all files in use
- ``Removal``: files to delete, data files first
- ``RemovableFiles``: collects the files of deleted snapshots, without the files that are still referenced
"""

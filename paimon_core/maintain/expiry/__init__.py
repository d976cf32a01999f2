"""Expires snapshots, changelogs, partitions and consumers (format 16).

`retention` selects the snapshots that may expire; `snapshots` deletes them with their files. `maintain.references`
determines which files are protected, and `maintain.rollback` determines what happens when a rollback runs at the same
time.

Core types and functions:

- ``Retention``: the number and the age of the snapshots that are kept
- ``Bound``: a snapshot id from which on nothing may expire, and the reason
- ``ExpiryRun``: the snapshots or changelogs that one expiry deletes, and the files that only they use
- ``ExpireReport``: the snapshots and files that an expiry deleted
- ``expire``: expires snapshots
- ``expire_changelogs``: expires lasting changelogs
"""

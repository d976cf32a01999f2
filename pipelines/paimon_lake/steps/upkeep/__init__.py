"""Upkeep of tables: compaction, tags, expiry, clean-up, and what a person starts by hand.

Core functions:

- ``maintain``: one round of maintenance of the whole lake
- ``compact``, ``tag``: maintain one table
- ``expire``: expires snapshots and partitions
- ``sweep``: removes orphans and purges quarantines
- ``sort``, ``rescale``, ``branch``, ``delete``: steps that a person starts
- ``expire_rejects``, ``sweep_rejects``, ``fsck_rejects``: the same for tables of rejects and of waiting rows
"""

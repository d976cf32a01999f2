"""Steps on the tables of a lake: infer, apply, follow, audit, compact, tag, expire, sweep, check, mend, roll back.

Core functions:

- ``apply``: creates and alters the declared tables
- ``audit``: runs the audits of a table
- ``compiled``: the whole definition that a declaration becomes
- ``declared_results``, ``past_results``: the declared checks of a table, now and after earlier loads
- ``examine``: the health of a table, with pictures
- ``lake_health``: the health of all tables
- ``compact``: compacts a table
- ``sort``, ``rescale``, ``branch``, ``delete``: steps that a person starts
- ``expire``: expires snapshots and partitions
- ``sweep``: removes orphans and purges quarantines
- ``fsck``: checks a table and fails on errors
- ``rollback``: rolls a table back
"""

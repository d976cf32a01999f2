"""Whether a table is correct: audits, ``fsck``, declared checks and the account of its rows; ``rollback`` goes back.

Core functions:

- ``audit``: runs the audits of a table
- ``fsck``: checks a table and fails on errors
- ``rollback``: rolls a table back
- ``declared_results``, ``past_results``: the declared checks of a table, now and after earlier loads
- ``account_of``: compares the rows of a table with the rows that its loads wrote
"""

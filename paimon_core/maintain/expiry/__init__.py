"""Expires snapshots, changelogs, partitions and consumers (format 16).

`retention` selects the snapshots that may expire; `snapshots` deletes them with their files. `maintain.references`
determines which files are protected, and `maintain.rollback` what happens when a rollback runs at the same time.
"""

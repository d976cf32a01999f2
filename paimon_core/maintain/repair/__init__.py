"""Repairs a branch with damaged metadata, corrects hint files, and removes the entries of missing data files.

Core types and functions:

- ``Damage``: the metadata files of a branch that are missing or cannot be read
- ``Loss``: the missing files that a snapshot removed, and where their rows came from
- ``apply_repair``: moves damaged files to a quarantine, corrects the hints, and removes entries of missing files
- ``repair_hints``: corrects the hint files
"""

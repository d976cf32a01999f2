"""Repairs hint files and removes manifest entries whose data files are missing.

Core types and functions:

- ``Damage``: the metadata files of a branch that are missing or cannot be read
- ``Loss``: the missing files that a snapshot removed, and where their rows came from
- ``apply_repair``: moves damaged files to the quarantine
- ``repair_hints``: corrects the hint files
"""

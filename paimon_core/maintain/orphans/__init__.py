"""Removes files that no snapshot, tag or changelog references; they are kept in a quarantine first (format 16.6).

A file is an orphan when `maintain.candidate_files` selects it by directory, name and age, and
`maintain.references.used_files` does not contain it.
"""

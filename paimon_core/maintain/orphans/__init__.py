"""Removes files that no snapshot, tag or changelog references (format 16.6), or moves them to a quarantine.

A file is an orphan when `maintain.candidate_files` selects it by directory, name and age, and
`maintain.references.used_files` does not find a reference to the file.
"""

"""Writing: turn rows into data files and commit messages, within one write buffer (format 7, 14.1).

Import `TableWriter`.
"""

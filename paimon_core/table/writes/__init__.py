"""Writes of a table: rows, overwrites, prepared commits, and what follows a commit.

Core types and functions:

- ``Prepared``: a commit that is written and not published
- ``MergingWriter``: a writer that alters the table so that it can take the data
- ``overwrite_target``: what an overwrite replaces
- ``check_messages``: checks messages from other processes
"""

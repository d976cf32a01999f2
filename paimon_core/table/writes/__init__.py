"""Writes of a table: rows, overwrites, prepared commits, and what follows a commit.

Core types and functions:

- ``Prepared``: a commit that is written and not published
- ``MergeRules``: how a write may change the schema
- ``overwrite_target``: what an overwrite replaces
- ``check_messages``: checks messages from other processes
"""

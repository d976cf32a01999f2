"""Writes of a table: rows, overwrites, prepared commits, and the steps after a commit.

Core types and functions:

- ``Prepared``: a commit that is written and not published
- ``MergingWriter``: a writer that alters the table when its data has columns that the table lacks
- ``write_rows``: writes rows and commits them; ``commit_messages`` commits files that writers have already written
- ``overwrite_target``: the partitions that an overwrite replaces
- ``check_messages``: checks messages from other processes
"""

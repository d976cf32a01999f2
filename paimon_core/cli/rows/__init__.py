"""Commands on rows: show, count, compare, query, change, import, export and copy them.

Core functions:

- ``add_rows``: adds the commands that show and compare rows to the parser
- ``add_changes``: adds the commands that delete and update rows
- ``add_transfers``: adds the commands that import, export and copy rows
- ``view_of``: opens the version of a table that the arguments name
"""

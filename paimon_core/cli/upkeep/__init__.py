"""Commands that clean up, compact, roll back and repair tables.

Core functions:

- ``add_planned``: adds a command that makes a plan
- ``partition_filter``: the partitions that the arguments name
"""

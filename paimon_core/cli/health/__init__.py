"""Commands that examine and maintain tables: ``fsck``, ``doctor``, ``maintain``, ``metrics``, ``top`` and ``report``.

Core functions:

- ``add_health``: adds the commands to the parser
- ``each_table``: examines tables one after the other, and yields the errors
"""

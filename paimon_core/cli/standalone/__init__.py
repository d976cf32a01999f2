"""Commands that need no warehouse: ``options``, ``cluster-archive`` and ``completion``.

Core functions:

- ``add_standalone``: adds the commands to the parser
- ``script_of``: the script that completes commands in a shell
"""

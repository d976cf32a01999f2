"""The command line ``paimon-lake``.

Core functions:

- ``main``: runs a command
- ``add_lake_commands``: adds the commands to the command line
- ``new_lake``: writes a folder with an example
"""

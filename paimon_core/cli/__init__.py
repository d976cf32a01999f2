"""Command line `paimon-core`: one module for each kind of command, and shared modules.

No other package imports this package.

Core types and functions:

- ``parser``: the parser of all commands
- ``main``: runs one command
- ``Output``: prints texts, tables and JSON
"""

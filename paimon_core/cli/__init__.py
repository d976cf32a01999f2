"""Command line `paimon-core`: one room for the commands of each idea, and rooms of shared modules.

- ``parsing``, ``output``, ``catalogs``: arguments, results, and the catalog that the arguments name
- ``rows``, ``tables``, ``refs``, ``upkeep``, ``health``, ``standalone``: commands; ``arguments`` of each adds them

No other package imports this package.

Core types and functions:

- ``parser``: the parser of all commands
- ``main``: runs one command
- ``Output``: prints texts, tables and JSON
"""

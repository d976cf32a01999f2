"""Parsing: the parser of arguments, parsers of values, and arguments that several commands have.

Core types and functions:

- ``Parser``: reports an invalid argument in one line or as JSON
- ``add_command``: adds a command with the arguments that all commands have
"""

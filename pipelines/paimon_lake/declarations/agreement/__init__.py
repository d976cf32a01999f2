"""What the declarations of a lake must have in common, and what the storage requires of each table.

Core functions:

- ``disagreements`` in ``tables``: all sentences about tables of a lake that do not fit each other
- ``check_definition`` in ``definition``: what the storage refuses in one table
- ``declared_schema`` in ``definition``: the schema of a table
"""

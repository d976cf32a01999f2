"""The rules that concern several declarations of a lake, and Paimon's rules for each table.

Core functions:

- ``disagreements`` in ``tables``: one sentence for each broken rule across the files of a lake
- ``check_definition`` in ``definition``: an error for a table that Paimon would not create
- ``selected`` in ``selection``: the tables that selectors such as ``tag:daily`` and ``+shop.orders`` name
- ``declared_schema`` in ``definition``: the schema of a table
"""

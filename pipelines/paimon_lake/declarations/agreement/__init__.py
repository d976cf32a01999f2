"""The rules that concern several declarations of a lake, and the rules of the storage for each table.

Core functions:

- ``disagreements`` in ``tables``: one sentence for each broken rule across the files of a lake
- ``check_definition`` in ``definition``: the mistakes that the storage would refuse in one table
- ``declared_schema`` in ``definition``: the schema of a table
"""

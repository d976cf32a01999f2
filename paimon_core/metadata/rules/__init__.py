"""Rules: checks of the keys, columns and options of new tables.

`table_rules` calls the others; `catalog.definition` calls it, after `options` has parsed each option.

Core functions:

- ``check_table``: checks the definition of a new table by all rules
- ``check_columns``: names, types and keys
- ``check_engine_options``: options of merge engines
"""

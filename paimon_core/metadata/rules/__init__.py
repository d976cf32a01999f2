"""Rules: checks of the keys, columns and options of new tables.

`table_rules` calls the other modules. `catalog.definition` calls `table_rules` after `options` has parsed each option.

Core functions:

- ``check_table``: checks the definition of a new table by all rules
- ``check_columns``: checks names, comments and defaults of columns
- ``check_engine_options``: checks the options of merge engines
"""

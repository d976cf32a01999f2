"""Rules: checks of the keys, columns and options of new tables.

`table_rules` calls the others; `catalog.definition` calls it, after `options` has parsed each option.
"""

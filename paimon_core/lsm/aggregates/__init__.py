"""Aggregate functions: how the values of one column in the rows of one key become one value (format 9.5 to 9.7).

`choice` creates a function by its name. Each function handles retracts itself: `integers`, `decimals` and `floats`
contain sum and product for these types. `column_rules` checks which columns and options a function accepts.
"""

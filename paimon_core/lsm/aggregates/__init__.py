"""Aggregate functions: how the values of one column in the rows of one key become one value (format 9.5 to 9.7).

`function_choice` creates a function by its name. Each function handles retracts in its own way. `integers`, `decimals`
and `floats` contain sum and product for the types in the name of the module; `reductions` combines the values of rows
for them, for `extremes` and for `booleans`. `column_rules` checks whether a function accepts a column and its options.

Core types and functions:

- ``Aggregate``: the interface of functions that combine the values of one column
- ``IgnoreRetract``: an aggregate that leaves retracts out
- ``Extreme``: the least or greatest value
- ``Last``: the last value; ``First``: the first value
- ``aggregate``: returns the function of a column by its name
"""

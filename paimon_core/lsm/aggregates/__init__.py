"""Aggregate functions: how the values of one column in the rows of one key become one value (format 9.5 to 9.7)."""

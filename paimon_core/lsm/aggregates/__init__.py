"""The aggregate functions: what makes the values of one column in the rows of one key one value (format 9.3)."""

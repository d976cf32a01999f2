"""Statistics of data files: bounds and null counts of columns, and how much of them is kept (format 4.5)."""

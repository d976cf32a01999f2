"""The rules that keys, columns and options of a new table must keep."""

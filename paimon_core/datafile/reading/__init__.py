"""Reading of one data file: row groups, chosen rows, filters, decoding (format 7)."""

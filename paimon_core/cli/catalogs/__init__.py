"""Catalogs: opens the catalog and table that the arguments name, and names the command that lists what exists."""

"""The merge engines: what makes several rows of one key one row (format 9)."""

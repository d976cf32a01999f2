"""Creates, renames, deletes and fast-forwards branches (format 15.2)."""

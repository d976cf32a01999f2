"""Creates, renames, deletes and expires tags, by request and automatically (format 15.1, 16.4)."""

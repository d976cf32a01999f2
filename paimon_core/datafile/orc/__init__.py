"""ORC: data files, their checksum and the checks of their metadata (format 7.9)."""

"""Table indexes: the files of deletion vectors and of hash indexes (format 11.1, 12)."""

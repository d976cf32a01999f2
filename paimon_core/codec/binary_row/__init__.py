"""BinaryRow: the encoding of partitions, keys and statistics, and the hashes of rows (format 5, 6)."""

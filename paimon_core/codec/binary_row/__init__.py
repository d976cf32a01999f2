"""BinaryRow: the encoding of partitions, keys and statistics, and the hashes of rows (format 5, 6).

Core types and functions:

- ``RowBytes``: encoded rows of a file, read as columns
- ``Cells``: encoded slots of one column
- ``encode_row``: encodes one row; ``encode_rows`` encodes columns
- ``decode_row``: decodes one row
- ``hash_rows``: the hashes of rows; ``bucket_of`` converts hashes to buckets
"""

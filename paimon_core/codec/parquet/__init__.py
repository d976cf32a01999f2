"""Parquet: footers and page headers of untrusted files, checked before Arrow reads them (format 7.7).

Core types and functions:

- ``RowGroup``: the row count and the column chunks of a row group; ``Chunk`` is the place of one column chunk
- ``Pages``: the decoded sizes of the pages of a column chunk
- ``check_footer``: checks a footer by rules
- ``FooterColumns``: the facts of all column chunks of a footer, as arrays
- ``KnownSchema``: a schema that was verified; footers that start with it are not parsed again
- ``parse_struct``: parses the thrift form of a footer
- ``sealed``: a footer with its checksum
"""

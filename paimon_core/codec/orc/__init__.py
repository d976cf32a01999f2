"""ORC: metadata and lengths of untrusted files, checked before Arrow reads them (format 7.9).

Core types and functions:

- ``Metadata``: the checked metadata of a file
- ``Lengths``: the count, the sum and the maximum of the numbers of a stream
- ``check_metadata``: checks the metadata of a file by rules
- ``rows_within``: the number of rows that can be decoded at a time within a number of bytes
"""

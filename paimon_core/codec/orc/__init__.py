"""ORC: metadata and lengths of untrusted files, checked before Arrow reads them (format 7.9).

Core types and functions:

- ``Metadata``: the checked metadata of a file
- ``Lengths``: what is known of the numbers of a stream, such as the longest
- ``check_metadata``: checks the metadata of a file by rules
- ``rows_within``: how many rows to decode at a time within a number of bytes
"""

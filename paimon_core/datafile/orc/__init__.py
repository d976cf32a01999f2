"""ORC: data files, their checksum and the checks of their metadata (format 7.9).

Core types:

- ``OrcInput``: reads a file
- ``OrcOutput``: writes a file
- ``ChecksumSink``: computes the checksum of a file while it is written
"""

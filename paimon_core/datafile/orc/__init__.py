"""ORC: data files, the checksum in the files, and the checks of the metadata (format 7.9).

Core types:

- ``OrcInput``: reads a file
- ``OrcOutput``: writes a file
- ``ChecksumSink``: computes the checksum of a file while it is written
"""

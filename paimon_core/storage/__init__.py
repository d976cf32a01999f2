"""Storage: the protocol through which every file of a warehouse is read and written.

Import `open_storage`, `Storage` and `TablePaths`; the other modules contain the implementations.

Core types and functions:

- ``Storage``: the protocol: read, create once, replace, move, list, delete
- ``FsspecStorage``: local disk and the file systems of fsspec
- ``RootedStorage``: several storages, chosen by directory
- ``TablePaths``: the paths of the files of a table
- ``open_storage``: returns the storage of a warehouse
"""

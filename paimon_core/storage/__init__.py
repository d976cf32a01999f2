"""Storage: the protocol through which every file of a warehouse is read and written.

Import `open_storage`, `Storage` and `TablePaths`; the other modules contain the implementations.

Core types and functions:

- ``Storage``: the protocol: read, create once, replace, move, list, delete
- ``FsspecStorage``: the storage of the local disk, or of the memory of this process
- ``RootedStorage``: sends each call to one of several storages, which it chooses by the directory of the path
- ``TablePaths``: the paths of the files of a table
- ``open_storage``: returns the storage of a warehouse
"""

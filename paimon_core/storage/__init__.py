"""Storage: the protocol through which every file of a warehouse is read and written.

Import `open_storage`, `Storage` and `TablePaths`; the other modules contain the implementations.
"""

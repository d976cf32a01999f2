"""Storage: every byte of a warehouse is read and written through the protocol `Storage`.

Import `open_storage`, `Storage` and `TablePaths`; the other modules are its kinds.
"""

"""Kinds of catalogs: the values of ``type`` in ``open_catalog``."""

FILESYSTEM, SQL, REST = "filesystem", "sql", "rest"

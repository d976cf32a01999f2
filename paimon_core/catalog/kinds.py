"""The kinds of catalog: who keeps the names of the tables."""

FILESYSTEM, SQL, REST = "filesystem", "sql", "rest"

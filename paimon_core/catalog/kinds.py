"""The kinds of catalog: where the names of the tables are kept."""

FILESYSTEM, SQL, REST = "filesystem", "sql", "rest"

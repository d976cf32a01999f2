"""The operations of DuckDB on tables of a database file, which has neither files to compact nor plans."""

import duckdb
import pyarrow as pa
from unsupported import Unsupported

COLUMNS = "a INTEGER, b BIGINT, c DOUBLE, d DOUBLE, name VARCHAR, city VARCHAR, ts TIMESTAMP"


class Side:
    def __init__(self, folder):
        self.database = duckdb.connect(f"{folder}/duck.db")
        self.batch = None

    def versions(self):
        return {"duckdb": duckdb.__version__, "pyarrow": pa.__version__}

    def make(self, name, key, options):
        """Create an empty table; options are of Paimon."""
        self.database.execute(f"CREATE TABLE {name} (id BIGINT{' PRIMARY KEY' if key else ''}, {COLUMNS})")

    def insert(self, name, how):
        self.database.register("batch", self.batch)
        self.database.execute(f"{how} INTO {name} SELECT * FROM batch")
        self.database.unregister("batch")

    def write(self, name):
        """Insert rows and write them to the database file, as the others write files."""
        self.insert(name, "INSERT")
        self.database.execute("CHECKPOINT")

    def upsert(self, name):
        self.insert(name, "INSERT OR REPLACE")
        self.database.execute("CHECKPOINT")

    def commit(self, name):
        self.insert(name, "INSERT OR REPLACE")

    def scan(self, name, columns):
        names = "*" if columns is None else ", ".join(columns)
        # Arrow tables of ``execute`` need an extra copy of the rows.
        return self.database.sql(f"SELECT {names} FROM {name}").to_arrow_table()

    def find(self, name, low, high):
        where = f"id = {low}" if low == high else f"id BETWEEN {low} AND {high}"
        return self.database.sql(f"SELECT * FROM {name} WHERE {where}").to_arrow_table()

    def delete(self, name, city):
        self.database.execute(f"DELETE FROM {name} WHERE city = ?", [city])
        self.database.execute("CHECKPOINT")

    def compact(self, name):
        raise Unsupported("a database file of DuckDB has no files to compact")

    def plan(self, warehouse, name, warm):
        raise Unsupported("a database file of DuckDB has no files to plan")

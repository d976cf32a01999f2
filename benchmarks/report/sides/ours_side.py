"""The operations of paimon_core."""

import time

import pyarrow as pa
import workload

import paimon_core
from paimon_core import col


class Side:
    def __init__(self, folder):
        self.folder = f"{folder}/ours"
        self.catalog = paimon_core.open_catalog(self.folder)
        self.catalog.create_database("db", ignore_if_exists=True)
        self.batch = None

    def versions(self):
        return {"paimon_core": paimon_core.__version__, "pyarrow": pa.__version__}

    def make(self, name, key, options):
        """Create an empty table; other Paimon libraries write such tables, too."""
        self.catalog.create_table(f"db.{name}", workload.SCHEMA, primary_key=key, options=options)

    def write(self, name):
        self.catalog.table(f"db.{name}").write(self.batch)

    upsert = commit = write

    def scan(self, name, columns):
        return self.catalog.table(f"db.{name}").scan(columns).to_arrow()

    def find(self, name, low, high):
        where = col("id") == low if low == high else (col("id") >= low) & (col("id") <= high)
        return self.catalog.table(f"db.{name}").scan(where=where).to_arrow()

    def delete(self, name, city):
        self.catalog.table(f"db.{name}").delete(col("city") == city)

    def compact(self, name):
        self.catalog.table(f"db.{name}").compact(full=True)

    def plan(self, warehouse, name, warm):
        """Plan with a new catalog and, if ``warm``, again with the same one; only the last plan counts."""
        catalog = paimon_core.open_catalog(warehouse)
        if warm:
            catalog.table(f"db.{name}").scan().splits()
        before, clock = time.process_time(), time.perf_counter()
        splits = catalog.table(f"db.{name}").scan().splits()
        spent = {"processor": time.process_time() - before, "clock": time.perf_counter() - clock}
        return {**spent, "files": sum(len(split.files) for split in splits)}

"""The operations of pyiceberg with a catalog in SQLite."""

import time
from pathlib import Path

import pyarrow as pa
import pyiceberg
import workload
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import And, EqualTo, GreaterThanOrEqual, LessThanOrEqual
from pyiceberg.transforms import IdentityTransform
from unsupported import Unsupported


class Side:
    def __init__(self, folder):
        base = Path(folder, "iceberg")
        base.mkdir(exist_ok=True)
        self.catalog = SqlCatalog("bench", uri=f"sqlite:///{base}/catalog.db", warehouse=f"file://{base}")
        self.catalog.create_namespace_if_not_exists("db")
        self.batch = None

    def versions(self):
        return {"pyiceberg": pyiceberg.__version__, "pyarrow": pa.__version__}

    def table(self, name):
        return self.catalog.load_table(f"db.{name}")

    def make(self, name, key, options):
        """Create an empty table; options are of Paimon."""
        self.catalog.create_table(f"db.{name}", workload.SCHEMA)

    def write(self, name):
        self.table(name).append(self.batch)

    commit = write

    def upsert(self, name):
        self.table(name).upsert(self.batch, join_cols=["id"])

    def scan(self, name, columns):
        return self.table(name).scan(selected_fields=tuple(columns or ["*"])).to_arrow()

    def find(self, name, low, high):
        where = EqualTo("id", low) if low == high else And(GreaterThanOrEqual("id", low), LessThanOrEqual("id", high))
        return self.table(name).scan(row_filter=where).to_arrow()

    def delete(self, name, city):
        self.table(name).delete(EqualTo("city", city))

    def compact(self, name):
        raise Unsupported("pyiceberg has no compaction of data files")

    def many(self, name, partitions, commits):
        """Create a table of ``partitions * commits`` files."""
        schema = pa.schema([("p", pa.int32()), ("id", pa.int64()), ("v", pa.string())])
        table = self.catalog.create_table(f"db.{name}", schema)
        with table.update_spec() as update:
            update.add_field("p", IdentityTransform())
        for k in range(commits):
            columns = [range(partitions), [k] * partitions, [f"v{k}"] * partitions]
            self.table(name).append(pa.table(columns, schema=schema))

    def plan(self, warehouse, name, warm):
        table = self.table(name)
        if warm:
            list(table.scan().plan_files())
        before, clock = time.process_time(), time.perf_counter()
        table = table.refresh() if warm else self.table(name)
        files = list(table.scan().plan_files())
        spent = {"processor": time.process_time() - before, "clock": time.perf_counter() - clock}
        return {**spent, "files": len(files)}

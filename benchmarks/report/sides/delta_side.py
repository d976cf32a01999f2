"""The operations of delta-rs."""

import time

import deltalake
import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
from unsupported import Unsupported


class Side:
    def __init__(self, folder):
        self.folder = f"{folder}/delta"
        self.batch = None

    def versions(self):
        return {"deltalake": deltalake.__version__, "pyarrow": pa.__version__}

    def table(self, name):
        return DeltaTable(f"{self.folder}/{name}")

    def make(self, name, key, options):
        """Delta creates a table with its first rows; options are of Paimon."""

    def write(self, name):
        write_deltalake(f"{self.folder}/{name}", self.batch, mode="append")

    def upsert(self, name):
        merge = self.table(name).merge(self.batch, "t.id = s.id", source_alias="s", target_alias="t")
        merge.when_matched_update_all().when_not_matched_insert_all().execute()

    def commit(self, name):
        self.write(name)

    def scan(self, name, columns):
        return pa.table(self.table(name).to_pyarrow_table(columns=columns))

    def find(self, name, low, high):
        return self.table(name).to_pyarrow_table(filters=[("id", ">=", low), ("id", "<=", high)])

    def delete(self, name, city):
        self.table(name).delete(f"city = '{city}'")

    def compact(self, name):
        if not self.table(name).optimize.compact()["numFilesAdded"]:
            raise Unsupported("its upsert rewrites the files that it touches, which leaves nothing to compact")

    def many(self, name, partitions, commits):
        """Create a table of ``partitions * commits`` files."""
        schema = pa.schema([("p", pa.int32()), ("id", pa.int64()), ("v", pa.string())])
        for k in range(commits):
            rows = pa.table([range(partitions), [k] * partitions, [f"v{k}"] * partitions], schema=schema)
            write_deltalake(f"{self.folder}/{name}", rows, mode="append", partition_by=["p"])

    def plan(self, warehouse, name, warm):
        table = self.table(name)
        if warm:
            table.file_uris()
        before, clock = time.process_time(), time.perf_counter()
        table = table if warm else self.table(name)
        if warm:
            table.update_incremental()
        files = table.file_uris()
        spent = {"processor": time.process_time() - before, "clock": time.perf_counter() - clock}
        return {**spent, "files": len(files)}

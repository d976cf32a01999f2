"""The operations of pypaimon and pypaimon-rust on tables that paimon_core has created."""

import time
from importlib.metadata import version

import pyarrow as pa
from unsupported import Unsupported


class Paimon:
    """What both packages have in common; ``package`` is its name."""

    package = ""

    def __init__(self, folder):
        self.folder = f"{folder}/ours"
        self.batch = None

    def versions(self):
        return {self.package: version(self.package), "pyarrow": pa.__version__}

    def table(self, name, warehouse=None):
        raise NotImplementedError

    def write(self, name):
        builder = self.table(name).new_batch_write_builder()
        writer, commit = builder.new_write(), builder.new_commit()
        for piece in self.batch.to_batches():
            (writer.write_arrow_batch if hasattr(writer, "write_arrow_batch") else writer.write_arrow)(piece)
        commit.commit(writer.prepare_commit())
        writer.close()

    upsert = commit = write

    def read(self, builder):
        splits = builder.new_scan().plan().splits()
        reader = builder.new_read()
        return pa.Table.from_batches(reader.read(splits)) if hasattr(reader, "read") else reader.to_arrow(splits)

    def scan(self, name, columns):
        builder = self.table(name).new_read_builder()
        return self.read(builder if columns is None else builder.with_projection(columns))

    def plan(self, warehouse, name, warm):
        table = self.table(name, warehouse)
        if warm:
            table.new_read_builder().new_scan().plan().splits()
        before, clock = time.process_time(), time.perf_counter()
        table = self.table(name, warehouse) if not warm else table
        splits = table.new_read_builder().new_scan().plan().splits()
        spent = {"processor": time.process_time() - before, "clock": time.perf_counter() - clock}
        return {**spent, "splits": len(splits)}

    def compact(self, name):
        raise Unsupported(f"{self.package} has no compaction of tables with a primary key")

"""The lower limits: what pyarrow alone needs to decode, sort and encode the same rows, on the files of paimon_core."""

import io
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import workload
from unsupported import Unsupported

import paimon_core
from paimon_core.datafile.parquet.parquet_schema import ParquetShape


class Side:
    def __init__(self, folder):
        self.folder = f"{folder}/ours"
        self.scratch = Path(folder, "limit")
        self.scratch.mkdir(exist_ok=True)
        self.batch = None

    def versions(self):
        return {"pyarrow": pa.__version__}

    def files(self, name):
        """Return the data files of the latest snapshot."""
        splits = paimon_core.open_catalog(self.folder).table(f"db.{name}").scan().splits()
        base = Path(self.folder, "db.db", name)
        return [base / f"bucket-{s.bucket}" / file.file_name for s in splits for file in s.files]

    def prepare(self, name):
        """Find the files and the settings of the writer, before the clock starts."""
        context = paimon_core.open_catalog(self.folder).table(f"db.{name}").context
        self.shape = ParquetShape.of(context.schema.file_fields, context.options, "zstd")
        self.key = context.schema.primary_keys
        self.found = self.files(name)

    def decode(self, columns=None, where=None):
        names = workload.SCHEMA.names if columns is None else columns
        tables = [
            pq.ParquetFile(file, page_checksum_verification=True).read(names, use_threads=False) for file in self.found
        ]
        rows = pa.concat_tables(tables)
        return rows if where is None else rows.filter(where)

    def encode(self, rows):
        """Encode rows; files of keyed tables have the key twice, a sequence number and a kind."""
        if self.key:
            extra = {f"_KEY_{name}": rows[name] for name in self.key}
            extra["_SEQUENCE_NUMBER"] = pa.array(np.arange(len(rows)))
            extra["_VALUE_KIND"] = pa.array(np.zeros(len(rows), np.int8))
            rows = pa.table({**extra, **dict(zip(rows.column_names, rows.columns, strict=True))})
        with pq.ParquetWriter(io.BytesIO(), rows.schema, **self.shape.settings(rows)) as writer:
            writer.write_table(rows)

    def write(self, name, by_key):
        """Encode the batch, sorted by its key if ``by_key``."""
        self.encode(self.batch.sort_by([(n, "ascending") for n in self.key]) if by_key else self.batch)

    def scan(self, name, columns):
        return self.decode(columns).slice(0, 0)

    def find(self, name, low, high):
        pq.read_table(self.found, filters=(pc.field("id") >= low) & (pc.field("id") <= high))

    def delete(self, name, city):
        self.decode(["city"], pc.field("city") == city)

    def compact(self, name):
        self.encode(self.decode())

    def commit(self, name):
        """Write, sync and rename six small files, as many as a commit has."""
        for number in range(6):
            path = self.scratch / str(number)
            with path.open("wb") as file:
                file.write(b"0" * 1000)
                file.flush()
                os.fsync(file.fileno())
            path.replace(self.scratch / f"{number}-renamed")

    def plan(self, warehouse, name, warm):
        raise Unsupported("pyarrow does not read Avro")

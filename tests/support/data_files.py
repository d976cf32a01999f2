"""Data files for tests, written and read by the real writer and reader in the memory of this process."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from paimon_core.datafile.file_layout import FileLayout
from paimon_core.datafile.file_plan import FilePlan
from paimon_core.datafile.reading.file_request import FileRequest
from paimon_core.datafile.reading.reader import read_batches
from paimon_core.datafile.writing.rolling_writer import RollingWriter
from paimon_core.metadata.column_stats import EMPTY_ROW
from paimon_core.metadata.data_file import DataFile, FileSource
from paimon_core.options import TableOptions
from paimon_core.schema import DataField, TableSchema
from paimon_core.storage.fsspec_storage import FsspecStorage
from paimon_core.storage.paths import TablePaths
from paimon_core.types import parse_type

STORAGE = FsspecStorage("memory")


def schema_of(
    types: Mapping[str, str], *, keys: Sequence[str] = (), options: Mapping[str, str] | None = None
) -> TableSchema:
    """Return schema 0 with these columns and field ids from 0."""
    fields = tuple(DataField(n, name, parse_type(text)) for n, (name, text) in enumerate(types.items()))
    return TableSchema(0, fields, len(fields) - 1, primary_keys=tuple(keys), options=dict(options or {}))


@dataclass
class Bucket:
    """Bucket 0 of a table without partitions."""

    schema: TableSchema
    paths: TablePaths = field(default_factory=lambda: TablePaths(f"/{uuid.uuid4()}"))

    def writer(
        self, *, level: int = 0, file_source: FileSource = FileSource.APPEND, changelog: bool = False, **changes: Any
    ) -> RollingWriter:
        """Return a writer of data files (by default of level 0), or of changelog files."""
        options = TableOptions.parse(self.schema.options)
        plan = FilePlan.changelog(options, level) if changelog else FilePlan.data(options, level, file_source)
        settings: dict[str, Any] = {
            "layout": FileLayout(self.schema, options, plan),
            "partition": EMPTY_ROW,
            "partition_path": "",
            "bucket": 0,
        }
        return RollingWriter(STORAGE, self.paths, **settings | changes)

    def write(self, rows: pa.Table, **changes: Any) -> list[DataFile]:
        """Write rows and return their files."""
        writer = self.writer(**changes)
        writer.write(rows)
        return writer.close()

    def table(self, columns: Mapping[str, Sequence[Any]]) -> pa.Table:
        """Convert Python values to a table with the columns of a file."""
        arrays = [pa.array(columns[f.name], f.type.to_arrow()) for f in self.schema.file_fields]
        return pa.table(arrays, names=[f.name for f in self.schema.file_fields])

    def path(self, file: DataFile) -> str:
        """Return the path of a file."""
        return self.paths.data_file("", 0, file.file_name)

    def parquet(self, file: DataFile) -> pq.ParquetFile:
        """Open the file with pyarrow's Parquet reader."""
        return pq.ParquetFile(STORAGE.open_input(self.path(file)))

    def put(self, table: pa.Table, name: str = "foreign.parquet", **settings: Any) -> DataFile:
        """Write a Parquet file with pyarrow, as a file of another writer."""
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, **settings)
        return self.put_bytes(sink.getvalue().to_pybytes(), len(table), name)

    def put_bytes(self, data: bytes, rows: int, name: str = "foreign.parquet") -> DataFile:
        """Write any bytes as a file, and return an entry that records ``rows`` rows."""
        file = DataFile(name, len(data), rows, schema_id=0)
        STORAGE.overwrite(self.path(file), data)
        return file

    def batches(
        self, file: DataFile, fields: Sequence[DataField] | None = None, **settings: Any
    ) -> Iterator[pa.RecordBatch]:
        """Read a file in batches as these fields, by default as the fields of the file."""
        wanted = self.schema.file_fields if fields is None else fields
        request = FileRequest(**settings)
        return read_batches(
            STORAGE, self.path(file), file=file, file_schema=self.schema, read_fields=wanted, request=request
        )

    def read(self, file: DataFile, fields: Sequence[DataField] | None = None, **settings: Any) -> pa.Table:
        """Read all rows of a file as these fields, by default as the fields of the file."""
        wanted = self.schema.file_fields if fields is None else fields
        return pa.Table.from_batches(list(self.batches(file, wanted, **settings)), pa.schema([f.arrow for f in wanted]))


def retyped(schema: TableSchema, **types: str) -> tuple[DataField, ...]:
    """Return the fields with these names and other types, as a later schema reads them."""
    return tuple(replace(schema.by_name[name], type=parse_type(text)) for name, text in types.items())

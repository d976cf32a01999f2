"""Several rows: read the rows of several tables of PostgreSQL in tasks, as rows of one table with a column for the name
of the source table.

The name of the source table is part of the key. So a TRUNCATE of one source table deletes the rows with the name of
this table: a task reads their keys at the snapshot on which the load builds, in batches, and writes a deletion for each
key.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from paimon_core import col
from paimon_core.table.table import Table
from paimon_lake.loads.database import DatabaseRead
from paimon_lake.loads.postgres.stored_rows import StoredRows
from paimon_lake.protocol import KIND
from paimon_lake.sources.files.columns import exact_type
from paimon_lake.sources.files.rejects import Parsed, no_rejects
from paimon_lake.sources.postgres.change_rows import ChangeRows, absent
from paimon_lake.sources.postgres.net_changes import NetBatch

_PART = pa.schema([("table", pa.string()), ("is_truncated", pa.bool_()), ("changes", pa.large_binary())])


@dataclass(frozen=True)
class NamedRows:
    """Converts rows of a source table to rows of the table: adds the name, and nulls for missing columns."""

    schema: pa.Schema
    """The columns of the table."""
    column: str
    """The column that has the name of the source table."""

    def __call__(self, rows: pa.RecordBatch, name: str) -> pa.RecordBatch:
        """Return rows of the source table ``name`` as rows of the table; a column of kinds in ``rows`` is kept."""
        found = dict(zip(rows.schema.names, rows.columns, strict=True))
        found[self.column] = pa.repeat(pa.scalar(name, pa.string()), len(rows))
        columns = [found[one.name] if one.name in found else pa.nulls(len(rows), one.type) for one in self.schema]
        kinds = {KIND: found[KIND]} if KIND in found else {}
        return pa.RecordBatch.from_arrays([*columns, *kinds.values()], [*self.schema.names, *kinds])


@dataclass(frozen=True)
class CopiedRows:
    """Reads a part of the copy in a task: the results of some queries, each with the name of the source table of the
    query.
    """

    tables: Mapping[str, DatabaseRead]
    named: NamedRows
    snapshot: str

    def __call__(self, payload: bytes) -> Iterator[Parsed]:
        """Read the rows of one part, by one connection."""
        queries = json.loads(payload)
        with self.tables[queries[0][0]].database.connected(self.snapshot) as connection:
            for name, query in queries:
                read = self.tables[name]
                for batch in replace(connection, database=read.database).batches(query):
                    parsed = read.rows.parsed(batch)
                    yield replace(parsed, rows=self.named(parsed.rows, name), file=read.database.name)


@dataclass(frozen=True)
class ChangedRows:
    """Converts the changes of some source tables in a task, as ``part_of`` has encoded them."""

    tables: Mapping[str, tuple[str, ChangeRows]]
    """Maps each source table to its name in rejects, and to the rules for reading its changes."""
    named: NamedRows
    stored: StoredRows

    def __call__(self, payload: bytes) -> Iterator[Parsed]:
        """Convert the changes of one part: for each table the deletions of a TRUNCATE, then its changes."""
        for part in pa.ipc.open_stream(payload):
            name = part["table"][0].as_py()
            text, rows = self.tables[name]
            stored = _Stored(self.stored, self.named.column, name)
            if part["is_truncated"][0].as_py():
                yield from self._removed(name, text)
            changes = pa.ipc.open_stream(part["changes"][0].as_buffer()).read_all().combine_chunks().to_batches()
            for batch in changes:
                for parsed in rows.in_slices(batch, stored):
                    yield replace(parsed, rows=self.named(parsed.rows, name), file=text)

    def _removed(self, name: str, text: str) -> Iterator[Parsed]:
        """Yield a deletion for each row of a source table; deletions count as read, and not in the share of rejects."""
        if self.stored.snapshot is None:
            return
        table = Table(self.stored.reference.open())
        keys = table.schema.primary_keys
        required = frozenset(field.name for field in table.schema.fields if not field.type.nullable)
        rows = table.at(snapshot=self.stored.snapshot).scan(list(keys), where=col(self.named.column) == name)
        for batch in rows.to_batches():
            for field in self.named.schema:
                if field.name not in keys:
                    value = absent(field, exact_type(field), required)
                    batch = batch.append_column(field.name, pa.repeat(value, len(batch)))
            batch = batch.append_column(KIND, pa.repeat(pa.scalar("-D"), len(batch)))
            yield Parsed(self.named(batch, name), no_rejects(), len(batch), removals=len(batch), file=text)


@dataclass(frozen=True)
class _Stored:
    """The stored rows of the table that come from one source table."""

    stored: StoredRows
    column: str
    name: str

    def __call__(self, keys: pa.Table, columns: Sequence[str]) -> tuple[pa.Table, np.ndarray]:
        names = pa.repeat(pa.scalar(self.name, pa.string()), len(keys))
        return self.stored(keys.append_column(self.column, names), columns)


def part_of(changes: Mapping[str, NetBatch]) -> bytes:
    """Return the changes of source tables for one task; b"" without changes. Takes twice the memory of the changes."""
    payload, is_empty = pa.BufferOutputStream(), True
    with pa.ipc.new_stream(payload, _PART) as writer:
        for name, found in changes.items():
            if not len(found.batch) and not found.is_truncated:
                continue
            stream = pa.BufferOutputStream()
            with pa.ipc.new_stream(stream, found.batch.schema) as inner:
                inner.write_batch(found.batch)
            row = [[name], [found.is_truncated], [stream.getvalue().to_pybytes()]]
            arrays = [pa.array(value, field.type) for value, field in zip(row, _PART, strict=True)]
            writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=_PART))
            is_empty = False
    data: bytes = b"" if is_empty else payload.getvalue().to_pybytes()
    return data

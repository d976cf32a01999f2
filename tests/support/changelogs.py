"""Data files and changelog files with exactly the given rows, for tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from paimon_core.codec.binary_row.rows import encode_row
from paimon_core.datafile.writing.table_files import rolling_writer
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.data_file import DataFile

KINDS = ("+I", "-U", "+U", "-D")
Row = tuple[Any, ...]
"""A row kind, a sequence number, and the values of all columns."""


def written(
    context: TableContext,
    rows: Sequence[Row],
    *,
    partition: bytes,
    bucket: int = 0,
    level: int = 0,
    changelog: bool = False,
) -> tuple[DataFile, ...]:
    """Write rows that are in file order, and return their files."""
    schema = context.schema
    values = {name: [row[2 + at] for row in rows] for at, name in enumerate(schema.names)}
    columns = [values[k] for k in schema.trimmed_primary_keys]
    columns += [[row[1] for row in rows], [KINDS.index(row[0]) for row in rows], *values.values()]
    fields = schema.file_fields
    table = pa.Table.from_arrays(
        [pa.array(column, f.type.to_arrow()) for column, f in zip(columns, fields, strict=True)],
        names=[f.name for f in fields],
    )
    writer = rolling_writer(context, partition, bucket, level=level, changelog=changelog)
    writer.write(table)
    return tuple(writer.close())


def changing(
    context: TableContext, rows: Sequence[Row] = (), changes: Sequence[Row] = (), *, bucket: int = 0, **values: Any
) -> CommitMessage:
    """Return a message with a data file of ``rows`` and a changelog file of ``changes``, in partition ``values``."""
    fields = context.schema.partition_fields
    partition = encode_row([values[f.name] for f in fields], [f.type for f in fields])
    return CommitMessage(
        partition,
        bucket,
        context.options["bucket"],
        new_files=written(context, rows, partition=partition, bucket=bucket) if rows else (),
        changelog_files=written(context, changes, partition=partition, bucket=bucket, changelog=True)
        if changes
        else (),
    )

"""Changes: read changed rows as batches, in the order of the changes, each row with its kind (format 10.4)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from paimon_core.datafile.reading.file_request import FileRequest
from paimon_core.datafile.reading.reader import read_batches
from paimon_core.errors import CorruptTable
from paimon_core.lsm.key_windows import WINDOW_ROWS
from paimon_core.metadata.context import TableContext
from paimon_core.plan.changelog_plan import ChangedFile
from paimon_core.predicate import Predicate
from paimon_core.read.bucket_reader import BucketReader
from paimon_core.schema import KIND_FIELD, ROW_KINDS, TableSchema

ROW_KIND = pa.field("rowkind", pa.string(), nullable=False)


def changes_schema(schema: TableSchema, columns: Sequence[str]) -> pa.Schema:
    """Return the schema of changed rows: ``rowkind``, then the columns."""
    return pa.schema([ROW_KIND, *(f.arrow for f in schema.select(columns))])


def read_changed_file(
    context: TableContext, changed: ChangedFile, columns: Sequence[str], where: Predicate | None
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of one file that match ``where``, with the columns of ``changes_schema``.

    Raises CorruptTable for a damaged file.
    """
    schema = context.schema
    needed = list(dict.fromkeys([*columns, *(sorted(where.columns) if where is not None else ())]))
    fields = [*schema.select(needed), *([KIND_FIELD] if context.is_keyed else [])]
    path = BucketReader(context, changed.partition, changed.bucket).path(changed.file)
    result = changes_schema(schema, columns)
    for batch in read_batches(
        context.storage,
        path,
        file=changed.file,
        file_schema=context.schemas.read(changed.file.schema_id),
        read_fields=fields,
        request=FileRequest(where.bind(schema.fields) if where is not None else None, batch_rows=WINDOW_ROWS),
    ):
        kinds = _kind_texts(batch[KIND_FIELD.name], path) if context.is_keyed else _insert_kinds(len(batch))
        yield pa.RecordBatch.from_arrays([kinds, *(batch[name] for name in columns)], schema=result)


def _kind_texts(codes: pa.Array, path: str) -> pa.Array:
    try:
        return pa.array(ROW_KINDS).take(codes)
    except pa.ArrowIndexError as error:
        raise CorruptTable(f"data file {path} contains an invalid row kind: {error}", path=path) from error


def _insert_kinds(rows: int) -> pa.Array:
    return pa.repeat(pa.scalar(ROW_KINDS[0]), rows)

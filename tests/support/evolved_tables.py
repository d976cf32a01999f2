"""Tables with data evolution as Java writes them: files with some of the columns of rows that exist already."""

from __future__ import annotations

import json
from dataclasses import replace

import pyarrow as pa

import paimon_core as paimon
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.stores.schema_store import SchemaStore
from paimon_core.schema import TableSchema
from paimon_core.table.table import Table
from paimon_core.write.table_writer import TableWriter
from tests.support.commits import commit


def tracked_table(warehouse: str, schema: pa.Schema, **options: str) -> Table:
    """Return a new table with row tracking."""
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db", ignore_if_exists=True)
    options = {"row-tracking.enabled": "true", "write-only": "true", **options}
    return catalog.create_table("db.t", schema, options=options)


def set_columns(table: Table, first_row_id: int, rows: pa.Table) -> Snapshot:
    """Commit a file with new values of some columns for the rows with the ids from ``first_row_id`` on."""
    context = table.context
    schema = replace(context.schema, fields=context.schema.select(rows.column_names))
    some = replace(context, schema=schema, schemas=_AnySchemas(context.storage, context.paths))
    with TableWriter(some) as writer:
        writer.write(rows)
        (message,) = writer.flush()
    (file,) = message.new_files
    file = replace(file, write_cols=tuple(rows.column_names), first_row_id=first_row_id)
    return commit([replace(message, new_files=(file,))], context=context, user="evolution")[0]


class _AnySchemas(SchemaStore):
    """The schemas of a table, for a writer of only some columns."""

    def holds(self, schema: TableSchema) -> bool:
        return True


def with_data_evolution(table: Table) -> Table:
    """Return the table after option data-evolution.enabled was written to its schema file."""
    context = table.context
    path = context.paths.schema(context.schema.id)
    members = json.loads(context.storage.read(path))
    members["options"]["data-evolution.enabled"] = "true"
    context.storage.overwrite(path, json.dumps(members).encode())
    return paimon.open_catalog(table.context.paths.root.rsplit("/", 2)[0]).table("db.t")

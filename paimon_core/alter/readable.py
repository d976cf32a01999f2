"""Readable: whether the files of a table can be read with a new schema."""

from __future__ import annotations

from paimon_core.datafile.evolution.casts import check_cast
from paimon_core.errors import InvalidRequest, UnsupportedFeature
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.latest_snapshot import latest_entries
from paimon_core.schema import DataField, TableSchema


def check_readable(context: TableContext, latest: TableSchema, new: TableSchema) -> None:
    """Raise InvalidRequest when live files have a column in an older type that has no cast to its new type.

    After several changes of a type, the first type may have no cast to the last type, although each change had a cast:
    from INT to STRING to DATE. Only files of the latest snapshot count. Java does not check this: its later reads fail.
    """
    held = {f.id: f.type for f in latest.fields}
    changed = [f for f in new.fields if f.id in held and held[f.id] != f.type]
    problems = [
        (schema_id, column, problem)
        for schema_id in (context.schemas.ids() if changed else ())
        for column in changed
        if (problem := _problem(context.schemas.read(schema_id), column)) is not None
    ]
    live = {entry.file.schema_id for entry in latest_entries(context)} if problems else set()
    for schema_id, column, problem in problems:
        if schema_id in live:
            raise InvalidRequest(
                f"table {context.name}: {problem}. Files of schema {schema_id} have the old type and must be "
                "rewritten first, by an overwrite or a compaction that merges them",
                table=context.name,
                column=column.name,
                schema=schema_id,
            )


def _problem(old: TableSchema, column: DataField) -> UnsupportedFeature | None:
    stored = next((f for f in old.fields if f.id == column.id), None)
    try:
        if stored is not None:
            check_cast(stored.type, column.type, column.name)
    except UnsupportedFeature as error:
        return error
    return None

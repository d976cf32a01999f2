"""Schema checks of one branch: ids without gaps, no field id used twice, no misspelled options (I25)."""

from __future__ import annotations

from collections.abc import Iterator

from paimon_core.fsck.check_context import CheckRun
from paimon_core.fsck.finding import Level
from paimon_core.fsck.finding_collector import Location
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.options.registry import KNOWN, option_of
from paimon_core.options.similar_names import nearest
from paimon_core.schema import TableSchema
from paimon_core.types import DataType, TypeRoot


def check_schemas(run: CheckRun, location: Location) -> None:
    """Read and check every schema of the branch, and record their ids in ``run``."""
    context, collector = run.context, run.collector
    run.schema_ids = set()
    before: TableSchema | None = None
    ids = context.schemas.ids()
    if ids and ids != list(range(ids[0], ids[-1] + 1)):
        missing = min(set(range(ids[0], ids[-1] + 1)) - set(ids))
        collector.find("I25", location, f"schema {missing} is missing: the ids are {ids[0]} to {ids[-1]}")
    for schema_id in ids:
        path = context.paths.schema(schema_id)
        run.reached.add(path)
        run.schema_ids.add(schema_id)
        collector.check("I25")
        with collector.guarding("I25", location, path):
            schema = context.schemas.read(schema_id)
            _check_ids(run, before, schema, path, location)
            _check_options(run, schema, path, location)
            before = schema


def _check_ids(run: CheckRun, before: TableSchema | None, schema: TableSchema, path: str, location: Location) -> None:
    names = dict(_field_ids(schema))
    highest = max(names, default=-1)
    if highest > schema.highest_field_id:
        run.collector.find(
            "I25",
            location,
            f"{path}: field id {highest} is above its highestFieldId {schema.highest_field_id}",
            path=path,
        )
    if before is None or before.id + 1 != schema.id:
        return
    for field_id in sorted(names.keys() - dict(_field_ids(before)).keys()):
        if field_id <= before.highest_field_id:
            run.collector.find(
                "I25",
                location,
                f"{path}: field {names[field_id]!r} has the id {field_id}, which another field had before schema "
                f"{schema.id}: older files would be read with the wrong field",
                path=path,
            )


def _check_options(run: CheckRun, schema: TableSchema, path: str, location: Location) -> None:
    """Report unknown options that differ from a known option in one letter: readers ignore them."""
    for option in schema.options:
        if option_of(option) is None and (known := nearest(option, KNOWN)) is not None:
            message = f"{path}: option {option!r:.80} is unknown and one letter away from {known!r}"
            run.collector.find("I25", location, message, level=Level.WARNING, path=path)


def _field_ids(schema: TableSchema) -> Iterator[tuple[int, str]]:
    """Yield the ids and names of all fields, including fields of nested rows."""
    for field in schema.fields:
        yield field.id, field.name
        yield from _nested(field.type)


def _nested(dtype: DataType) -> Iterator[tuple[int, str]]:
    for child in dtype.listed:
        if dtype.root is TypeRoot.ROW:
            yield child.id, child.name
        yield from _nested(child.type)


def check_schema_of(run: CheckRun, snapshot: Snapshot, location: Location) -> None:
    """Check that the schema of a snapshot exists."""
    run.collector.check("I25")
    if snapshot.schema_id not in run.schema_ids:
        run.collector.find("I25", location, f"{location.holder} has schema {snapshot.schema_id}, which is missing")

"""Change events: the rules for the declaration of a table whose files or messages are change events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paimon_core.types import TypeRoot, parse_type
from paimon_lake.declarations.errors import Mistake
from paimon_lake.declarations.sources.kafka import KafkaSource
from paimon_lake.declarations.sources.source import EVENT_FORMATS, FilesSource, Source

if TYPE_CHECKING:
    from paimon_lake.declarations.table import TableSpec


def has_events(source: Source | None) -> bool:
    """Whether a source is files or messages of change events."""
    return isinstance(source, FilesSource | KafkaSource) and source.has_events


def check_events(spec: TableSpec) -> None:
    """Raise Mistake when the source has change events, and the declaration does not fit change events."""
    source = spec.source
    if isinstance(source, FilesSource):
        _check_source_column(spec, source)
    if not isinstance(source, FilesSource | KafkaSource):
        return
    _check_schema_changes(source)
    if not source.has_events:
        return
    form = source.format
    if not spec.primary_key:
        why = "its events update and delete rows by their keys"
        raise Mistake(f"{form} needs a primary_key: {why}", "source", "format")
    if spec.mode not in (None, "changes"):
        raise Mistake(f"{form} inserts, updates and deletes rows, so {spec.mode} does not fit: remove mode", "mode")
    if spec.kinds is not None:
        raise Mistake(f"the events of {form} say whether a row is inserted, updated or deleted: remove kinds", "kinds")
    if not spec.columns:
        raise Mistake(f"the columns of {form} cannot be inferred: list them in the declaration", "columns")
    for option, allowed, why in (
        ("merge-engine", ("deduplicate",), "the events have whole rows, and deletes remove them"),
        ("changelog-producer", ("none", "lookup", "full-compaction"), "the events may lack the old rows"),
    ):
        if (text := spec.options.get(option, allowed[0]).strip().lower()) not in allowed:
            raise Mistake(f"{text} does not fit {form}: {why}; it must be {' or '.join(allowed)}", "options", option)
    if "rowkind.field" in spec.options:
        raise Mistake(f"does not fit {form}: the events have the kinds of rows", "options", "rowkind.field")
    for column in source.add:
        if column in spec.primary_key:
            raise Mistake(
                "is in the primary key: an event could not delete a row of another file", "source", "add", column
            )
    if isinstance(source, FilesSource) and source.changed == "load":
        raise Mistake(
            "load would apply the events of a changed file after the events of later files: load with `--reload`",
            "source",
            "changed",
        )


def _check_schema_changes(source: FilesSource | KafkaSource) -> None:
    if source.schema_changes == "refuse":
        return
    if not source.has_events:
        raise Mistake(f"needs change events: {' or '.join(EVENT_FORMATS)}", "source", "schema_changes")
    if "ignore_extra_columns" in source.options:
        raise Mistake("ignore_extra_columns is not allowed beside schema_changes: remove it", "source", "options")


def _check_source_column(spec: TableSpec, source: FilesSource) -> None:
    column = source.source_column
    if not column:
        return
    key = ("source", "source_column")
    if not source.has_events:
        raise Mistake(f"needs files of change events, which name their tables: {' or '.join(EVENT_FORMATS)}", *key)
    if column not in spec.columns:
        raise Mistake(f"{column!r:.80} is not a column of the table", *key)
    if column in source.add or column in source.rename.values():
        raise Mistake(f"{column!r:.80} is also set by source.add or source.rename: name another column", *key)
    if parse_type(spec.columns[column]).root is not TypeRoot.VARCHAR:
        raise Mistake(f"{column} is {spec.columns[column]}, and names of tables need STRING", *key)

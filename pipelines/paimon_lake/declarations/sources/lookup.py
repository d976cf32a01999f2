"""Lookup: columns of a table that are taken from another table of the lake, by the primary key of that table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from paimon_core.options.parsers import parse_positive_millis
from paimon_lake.declarations.durations import OptionalDuration
from paimon_lake.declarations.errors import Mistake, nearest
from paimon_lake.declarations.model import Model
from paimon_lake.declarations.tables.rejects import TABLE_NAME

if TYPE_CHECKING:
    from paimon_lake.declarations.sources.source import Source
    from paimon_lake.declarations.table import TableSpec

WAITING = ("__kind", "__file", "__load", "__lane", "__row", "__since")
"""The columns of a table of waiting rows that the source does not have."""

_IGNORE_DELETE = ("ignore-delete", *(f"{one}.ignore-delete" for one in ("deduplicate", "first-row", "partial-update")))
"""The option with which a table ignores deletes, and older names of this option with the same effect."""


def table_name(value: str) -> str:
    """Return the name of a table, ``<database>.<table>``; raises ValueError for a text of another form."""
    if not TABLE_NAME.fullmatch(value):
        raise ValueError(f"must be <database>.<table>, not {value!r:.80}")
    return value


def _null(value: Any) -> Any:
    """Return the text ``null`` for YAML's null, and any other value unchanged."""
    return "null" if value is None else value


class Lookup(Model):
    """Columns that the source does not have, taken from the row of another table of the lake with the same key."""

    table: Annotated[str, AfterValidator(table_name)]
    """The other table, ``<database>.<table>``; it must be declared and have a primary key."""
    on: Annotated[Mapping[str, str], Field(min_length=1)]
    """Maps columns of this table, or columns that exist only in the source, to the primary key of the other table. For
    a row with a null in one of these columns, the other table has no row.
    """
    columns: Annotated[Mapping[str, str], Field(min_length=1)]
    """Maps columns of this table to the columns of the other table whose values they get."""
    missing: Annotated[
        Literal["null", "reject", "wait"],
        BeforeValidator(_null, json_schema_input_type=Literal["null", "reject", "wait"] | None),
    ] = "null"
    """The action for a row that has no matching row in the other table: ``null`` writes nulls, ``reject`` rejects the
    row, ``wait`` keeps it in ``<table>__waiting`` and tries it again with each load for ``max_wait``. With ``wait``, a
    row that has a null in ``on`` gets nulls at once.
    """
    max_wait: OptionalDuration = ""
    """How long a row waits, such as ``2 d``; needed with ``missing: wait``, and the same in all lookups that wait."""
    after_wait: Annotated[
        Literal["reject", "null"],
        BeforeValidator(_null, json_schema_input_type=Literal["reject", "null"] | None),
    ] = "reject"
    """The action for a row that has waited for ``max_wait``: ``reject`` rejects it, ``null`` writes nulls."""
    cache_bytes: Annotated[int, Field(ge=1 << 20, le=1 << 40)] = 512 << 20
    """The largest size of the columns of the other table that a lookup reads, in bytes of decoded values. Each process
    keeps these columns in temporary files; a larger table is refused.
    """

    @model_validator(mode="after")
    def _waits(self) -> Lookup:
        if self.missing == "wait" and not self.max_wait:
            raise ValueError("missing: wait needs max_wait, such as max_wait: 2 d")
        for key in ("max_wait", "after_wait"):
            if self.missing != "wait" and key in self.model_fields_set:
                raise ValueError(f"{key} needs missing: wait")
        return self

    @property
    def max_wait_ms(self) -> int:
        """How long a row waits, in milliseconds; 0 when rows do not wait."""
        return parse_positive_millis(self.max_wait) if self.max_wait else 0


def lookups_of(source: Source | None) -> tuple[Lookup, ...]:
    """Return the lookups of a source; () for a source that has none."""
    return getattr(source, "lookup", ())


def waits(spec: TableSpec) -> bool:
    """Whether rows of a table may wait for rows of other tables."""
    return any(lookup.missing == "wait" for lookup in lookups_of(spec.source))


def check_lookups(spec: TableSpec) -> None:
    """Raise Mistake for lookups that do not fit the declaration of their table."""
    lookups = lookups_of(spec.source)
    if lookups and not spec.columns:
        raise Mistake("the columns of a table with lookups cannot be inferred: list them in the declaration", "columns")
    taken: dict[str, str] = {}
    for number, lookup in enumerate(lookups):
        for column in lookup.columns:
            _check_target(spec, column, taken, ("source", "lookup", number, "columns", column))
            taken[column] = f"source.lookup[{number}]"
    for number, lookup in enumerate(lookups):
        if spec.name == lookup.table:
            raise Mistake("a table cannot look up its own rows", "source", "lookup", number, "table")
        for column in lookup.on:
            if why := _why_not_on(spec, column, taken):
                raise Mistake(f"{column!r:.80} {why}", "source", "lookup", number, "on", column)
    if lookups and len(taken) == len(spec.columns):
        raise Mistake("all columns are looked up: none is left for the source", "source", "lookup")
    if waits(spec):
        _check_waiting(spec)


def _why_not_on(spec: TableSpec, column: str, taken: dict[str, str]) -> str:
    """Return why rows cannot be looked up by a column; "" when they can."""
    if column in taken:
        return f"is looked up itself, by {taken[column]}: name columns of the source"
    if new := getattr(spec.source, "rename", {}).get(column):
        return f"is renamed: use its new name {new!r:.80}"
    if column in spec.columns:
        return ""
    if spec.kinds is not None and column == spec.kinds.column:
        return "is kinds.column: rows cannot be looked up by it"
    if getattr(spec.source, "type", "") == "postgres_changes":
        return "must be a column of the table: PostgreSQL does not send large values again that did not change"
    return ""


def _check_target(spec: TableSpec, column: str, taken: dict[str, str], key: tuple[str | int, ...]) -> None:
    """Raise Mistake unless a lookup may fill a column of the table."""
    if column not in spec.columns:
        raise Mistake(f"{column!r:.80} is not a column{nearest(column, list(spec.columns))}", *key)
    if column in taken:
        raise Mistake(f"{column!r} is also looked up by {taken[column]}", *key)
    source, options = spec.source, spec.options
    sequence = options.get("sequence.field", "").replace(" ", "").split(",")
    kinds = spec.kinds.column if spec.kinds is not None else ""
    for what, names in (
        ("source.rename fills it", getattr(source, "rename", {}).values()),
        ("source.add fills it", getattr(source, "add", {})),
        ("it is in primary_key", spec.primary_key),
        ("it is in partition_by", spec.partition_by),
        ("it is in partitions.column", [spec.partitions.column] if spec.partitions is not None else ()),
        ("it is in order_by", spec.order_by),
        ("it is in options.sequence.field", sequence),
        ("it is kinds.column", [kinds]),
        ("it is options.rowkind.field", [options.get("rowkind.field", "")]),
    ):
        if column in names:
            raise Mistake(f"{column!r} cannot be looked up: {what}, which needs its value from the source", *key)


def _check_waiting(spec: TableSpec) -> None:
    """Raise Mistake when a waiting row, which is written later than it was read, would make the table wrong."""
    waiting = {n: lookup for n, lookup in enumerate(lookups_of(spec.source)) if lookup.missing == "wait"}
    number, first = next(iter(waiting.items()))
    key = ("source", "lookup", number, "missing")
    for other, lookup in waiting.items():
        if lookup.max_wait_ms != first.max_wait_ms:
            raise Mistake(
                f"{lookup.max_wait} differs from {first.max_wait} of source.lookup[{number}]: a row waits once, for "
                "all tables that it looks up; use the same value",
                *("source", "lookup", other, "max_wait"),
            )
    if spec.write_mode in ("overwrite", "overwrite-partitions"):
        raise Mistake(
            f"wait cannot be used with mode {spec.write_mode}, because a load reads the replaced rows again", *key
        )
    engine = spec.options.get("merge-engine", "deduplicate").strip().lower()
    if spec.primary_key and engine != "deduplicate":
        raise Mistake(
            f"wait cannot be used with merge-engine {engine}: a newer row of a key replaces a waiting row; use null or "
            "reject",
            *key,
        )
    if spec.primary_key and getattr(spec.source, "type", "") == "database" and getattr(spec.source, "split", ""):
        raise Mistake("wait cannot be used with source.split: all rows of a key must be read by one task", *key)
    for option in _IGNORE_DELETE:
        if spec.options.get(option, "").strip().lower() == "true":
            raise Mistake(
                f"wait cannot be used with options.{option}: a delete that the table ignores would remove a waiting "
                "row; use null or reject, or remove the option",
                *key,
            )
    if "rowkind.field" in spec.options:
        raise Mistake("wait cannot be used with options.rowkind.field: use kinds", *key)
    only = {column for lookup in lookups_of(spec.source) for column in lookup.on} - set(spec.columns)
    for column in (*spec.columns, *sorted(only)):
        if column in WAITING:
            raise Mistake(f"{column!r} is a column of tables of waiting rows: give it another name", *key)

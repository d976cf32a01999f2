"""Part specs: make a declaration for each part of a wide table, and check the rules for parts.

The loads, the checks of sources and Dagster use a ``PartSpec`` in the same way as the declaration of a whole table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from pydantic import ValidationError

from paimon_lake.declarations.errors import Key, Mistake, SettingsError, nearest, text_of
from paimon_lake.declarations.sources.change_events import has_events
from paimon_lake.declarations.sources.kafka import KafkaSource
from paimon_lake.declarations.sources.lake_table import followed_tables, key_from_mistakes
from paimon_lake.declarations.sources.lookup import lookups_of
from paimon_lake.declarations.sources.parts import Part
from paimon_lake.declarations.sources.postgres_part import postgres_mistakes
from paimon_lake.declarations.sources.source import (
    CHANGES,
    FilesSource,
    PostgresChangesSource,
    PythonSource,
    SqlSource,
    has_changes,
)
from paimon_lake.declarations.table import Mode, TableSpec
from paimon_lake.declarations.tables.checks import PartsCompleteCheck
from paimon_lake.declarations.yaml_file import YamlFile

_SHARED = frozenset(
    ("name", "comment", "columns", "primary_key", "partition_by", "owners", "checks", "rejects", "retention")
)
"""The fields that the declarations of a part and of its table have in common."""
_OF_PARTS = frozenset(("source", "kinds", "order_by"))
"""The keys that a file with parts has below the part, not at the top."""
_NOT_HERE = ("source", "mode", "kinds", "order_by", "natural_key", "mark_done")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_FOLLOWS = "the parts determine it"
_REFUSED = {
    "sequence.field": "each part has order_by",
    "rowkind.field": "each part may have kinds",
    "ignore-delete": "leave out kinds in a part whose deletes are ignored",
    "partial-update.ignore-delete": "leave out kinds in a part whose deletes are ignored",
    "partial-update.remove-record-on-delete": "set `deletes: row` in a part",
    "partial-update.remove-record-on-sequence-group": "set `deletes: row` in a part",
    "fields.default-aggregate-function": "a row that is loaded again would count twice",
}


class PartSpec(TableSpec):
    """One part of a wide table: the declaration of the table, with the source of the part."""

    not_in_file: ClassVar[frozenset[str]] = frozenset(("name", "column_comments", "part"))
    part: str
    """The name of the part."""
    removes_rows: bool = False
    """Whether a delete of this part removes the whole row of the table."""
    filled: tuple[str, ...] = ()
    """The columns that the part fills, without the primary key."""

    @property
    def is_part(self) -> bool:
        """Whether this is one part of a table: always."""
        return True

    @property
    def load_name(self) -> str:
        """The load name of this part: its loads are recorded under this name."""
        return f"{self.name} part {self.part}"

    @property
    def source_key(self) -> tuple[str, ...]:
        """The key of the source in the file of the table."""
        return ("parts", self.part, "source")

    @property
    def rejects_table(self) -> str:
        """The name of the table of rejected rows of this part."""
        return f"{super().rejects_table}_{self.part}"

    @property
    def waiting_table(self) -> str:
        """The name of the table of waiting rows of this part."""
        return f"{super().waiting_table}_{self.part}"

    @property
    def write_mode(self) -> Mode:
        """How a load of the part writes: ``changes`` if the rows have kinds, else ``upsert``."""
        return "changes" if self.kinds is not None or has_events(self.source) else "upsert"

    @property
    def adds_up(self) -> bool:
        """Whether a row that is loaded twice counts twice: never, as parts have no aggregate functions."""
        return False

    def fills(self, column: str) -> bool:
        """Whether loads of the part write a column."""
        return column in self.primary_key or column in self.filled


def load_specs(spec: TableSpec) -> tuple[TableSpec, ...]:
    """Return a spec for each load of a table: one for each of its parts, or one for the table itself; () for a table
    that is not loaded.
    """
    if spec.parts:
        return tuple(part_spec(spec, name) for name in spec.parts)
    return () if spec.source is None else (spec,)


def part_names(spec: TableSpec) -> tuple[str, ...]:
    """Return the load names of the parts of a table; () for a table without parts."""
    return tuple(f"{spec.name} part {name}" for name in spec.parts)


def followed_specs(spec: TableSpec) -> tuple[TableSpec, ...]:
    """Return the specs of ``load_specs`` whose source is a source of changes; () when no spec has such a source."""
    return tuple(one for one in load_specs(spec) if has_changes(one.source))


def loaded_spec(tables: Mapping[str, TableSpec], loaded: str) -> TableSpec:
    """Return the declaration of a table, or of a part of a table, by its load name."""
    name, _, part = loaded.partition(" part ")
    return part_spec(tables[name], part) if part else tables[name]


def part_spec(spec: TableSpec, name: str) -> PartSpec:
    """Return one part of a table as a declaration; raises ValidationError for a source that does not fit."""
    part = spec.parts[name]
    values: dict[str, Any] = {field: getattr(spec, field) for field in spec.model_fields_set & _SHARED}
    values["options"] = {key: text for key, text in spec.options.items() if key != "merge-engine"}
    if spec.partitions is not None and _has_partitions(part):
        values["partitions"] = spec.partitions
    return PartSpec(
        part=name,
        source=part.source,
        kinds=part.kinds,
        order_by=part.order_by,
        filled=part.filled,
        removes_rows=part.deletes == "row",
        **values,
    )


def _has_partitions(part: Part) -> bool:
    """Whether the partitions of a run select rows of the source of ``part``, by its path or its query."""
    match part.source:
        case FilesSource(path=path):
            return "{" in path
        case SqlSource(read=read):
            return read not in ("whole", "changes")
        case PythonSource():
            return True
        case _:
            return False


def check_parts(spec: TableSpec, file: YamlFile) -> None:
    """Raise SettingsError, with file and line, for the first rule that the parts of a table do not follow."""
    wrong = [n for n, check in enumerate(spec.checks) if isinstance(check, PartsCompleteCheck)]
    if not spec.parts and wrong:
        key: Key = ("checks", wrong[0])
        raise SettingsError(f"{file.place(key)}: {text_of(key)}: parts_complete needs a table with parts")
    if not spec.parts:
        return
    try:
        for key, text in _mistakes(spec):
            raise Mistake(text, *key)
        for name in spec.parts:
            _check_as_table(spec, name)
    except Mistake as error:
        raise SettingsError(f"{file.place(error.key)}: {text_of(error.key)}: {error}") from None


def _check_as_table(spec: TableSpec, name: str) -> None:
    """Raise Mistake for a part whose source could not be the source of a table with the same key and partitions."""
    try:
        part_spec(spec, name)
    except ValidationError as error:
        found = error.errors(include_url=False)[0]
        inner = found.get("ctx", {}).get("error", found["msg"])
        key: Key = getattr(inner, "key", ())
        below = ("parts", name, *key) if not key or key[0] in _OF_PARTS else key
        raise Mistake(str(inner), *below) from None


def _mistakes(spec: TableSpec) -> Iterator[tuple[Key, str]]:
    yield from _of_table(spec)
    owner: dict[str, str] = {}
    names: dict[str, str] = {}
    for name, part in spec.parts.items():
        key = ("parts", name)
        if not _NAME.fullmatch(name):
            yield key, "the name of a part has letters, digits and underscores, and begins with a letter"
        if (other := names.setdefault(name.casefold(), name)) != name:
            yield key, f"the name differs from {other} only by case"
        yield from _of_part(spec, name, part)
        for role in ("order_by", "columns"):
            for column in getattr(part, role):
                if (other := owner.setdefault(column, name)) != name:
                    yield (*key, role), f"the part {other} fills {column!r:.80} too: a column belongs to one part"
    for column in spec.columns:
        if column not in owner and column not in spec.primary_key:
            yield ("columns", column), "no part fills this column: add it to the columns of a part, or remove it"
    if spec.partitions is not None and not any(map(_has_partitions, spec.parts.values())):
        yield ("partitions",), "have no effect: no source of a part is divided by partitions"
    for number, check in enumerate(spec.checks):
        if isinstance(check, PartsCompleteCheck):
            yield from ((("checks", number, *key), text) for key, text in _of_check(spec, check))


def _of_table(spec: TableSpec) -> Iterator[tuple[Key, str]]:
    for key in _NOT_HERE:
        if key in spec.model_fields_set and getattr(spec, key):
            yield (key,), "is not allowed beside parts: each part has a source, and the primary key is common"
    if not spec.columns:
        yield ("columns",), "the columns of a table with parts cannot be inferred: list them in the declaration"
    for column in spec.partition_by:
        if column not in spec.primary_key:
            yield ("partition_by",), f"{column!r:.80} is not in the primary_key: only one part could fill it"
    for column, text in spec.columns.items():
        if column not in spec.primary_key and text.upper().rstrip().endswith("NOT NULL"):
            yield ("columns", column), "must not be NOT NULL: a row is without it until its part comes"
    for option, text in spec.options.items():
        if option == "merge-engine" and text.strip().lower() != "partial-update":
            yield ("options", option), f"{text:.40} does not fit: a table with parts has partial-update"
        why = _REFUSED.get(option, "")
        if option.startswith("fields.") and option.endswith(".sequence-group"):
            why = "each part has order_by"
        if option.startswith("fields.") and option.endswith(".aggregate-function"):
            why = "a row that is loaded again would count twice"
        if why:
            yield ("options", option), f"must not be set for a table with parts: {why}"
    if spec.schedule is not None and spec.schedule.on == "files":
        yield ("schedule", "on"), "files needs one source of type files: set cron for a table with parts"
    if spec.schedule is not None and spec.schedule.on == "inputs" and not any(map(_inputs, spec.parts.values())):
        yield ("schedule", "on"), "inputs needs a part whose source has inputs"
    if spec.schedule is not None and spec.schedule.on == "changes":
        if not any(has_changes(part.source) for part in spec.parts.values()):
            yield ("schedule", "on"), f"changes needs a part whose source is of type {CHANGES}"
        elif spec.partitions is not None:
            yield ("schedule", "on"), "changes requests loads without partitions: set cron, or remove partitions"


def _of_check(spec: TableSpec, check: PartsCompleteCheck) -> Iterator[tuple[Key, str]]:
    if check.block:
        yield ("block",), "has no effect here: a load of one part cannot load the other parts; remove block"
    for name in check.parts:
        if name not in spec.parts:
            yield ("parts",), f"{name!r:.80} is not a part{nearest(name, list(spec.parts))}"
        elif check.column in spec.parts[name].filled:
            yield (
                ("column",),
                f"{check.column!r:.80} is filled by the part {name}, so it is null in rows that lack it",
            )
    if not check.parts and check.column and check.column not in spec.primary_key:
        yield ("parts",), f"is missing: a row without the part that fills {check.column!r:.80} could not be compared"


def _inputs(part: Part) -> tuple[str, ...]:
    return part.source.inputs if isinstance(part.source, SqlSource | PythonSource) else followed_tables(part.source)


def _of_part(spec: TableSpec, name: str, part: Part) -> Iterator[tuple[Key, str]]:
    key = ("parts", name)
    for below, text in (*key_from_mistakes(spec, part), *postgres_mistakes(spec, part)):
        yield (*key, *below), text
    if not part.order_by:
        yield (
            (*key, "order_by"),
            "is missing: name the columns that say which of two rows with the same key is newer; files may have "
            "`source.add: {column: file}`, and a query current_timestamp()",
        )
    if isinstance(part.source, KafkaSource) and part.source.key:
        yield (
            (*key, "source", "key"),
            "is not allowed in a part: a tombstone has no value of order_by; delete by kinds, or by change events",
        )
    for role in ("columns", "order_by"):
        columns = getattr(part, role)
        for column in columns:
            if column not in spec.columns:
                yield (*key, role), f"{column!r:.80} is not a column{nearest(column, list(spec.columns))}"
            if column in spec.primary_key:
                yield (*key, role), f"{column!r:.80} is in the primary_key, which all parts have"
            if columns.count(column) > 1:
                yield (*key, role), f"{column!r:.80} occurs twice"
    if not set(part.columns) - set(part.order_by):
        yield (*key, "columns"), "has only the columns of order_by: a part fills at least one other column"
    has_deletes = has_events(part.source) or isinstance(part.source, PostgresChangesSource)
    if part.deletes == "row" and part.kinds is None and not has_deletes:
        yield (*key, "deletes"), "row has no effect: the part has no kinds, so none of its rows deletes"
    if part.kinds is not None and part.kinds.column in spec.columns and part.kinds.column not in part.filled:
        yield (*key, "kinds", "column"), f"{part.kinds.column!r:.80} is a column that this part does not fill"
    if getattr(part.source, "schema_changes", "") == "apply" and not isinstance(part.source, PostgresChangesSource):
        yield (
            (*key, "source", "schema_changes"),
            "apply can be used in a part only if its source is of type postgres_changes: declare the new columns, or "
            "set ignore",
        )
    if isinstance(part.source, FilesSource | KafkaSource):
        for role, columns in (("rename", part.source.rename.values()), ("add", part.source.add)):
            for column in columns:
                if column in spec.columns and column not in (*spec.primary_key, *part.filled):
                    yield (*key, "source", role), f"{column!r:.80} is not a column of this part"
    for number, lookup in enumerate(lookups_of(part.source)):
        at = (*key, "source", "lookup", number)
        for column in lookup.columns:
            if column in spec.columns and column not in part.filled:
                yield (*at, "columns", column), f"{column!r:.80} is not a column of this part"
    if isinstance(part.source, SqlSource) and part.source.read == "partition" and spec.partitions is None:
        yield (*key, "source", "read"), "partition needs partitions, which divide the loads"

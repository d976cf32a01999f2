"""TableSchema: the fields, keys and options of one schema file (format 2.1). This module does no I/O."""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import cached_property
from typing import Any

import pyarrow as pa

from paimon_core.display import Displayed, Summary, named
from paimon_core.errors import CorruptTable, InvalidRequest, SchemaMismatch, UnsupportedFeature, listed
from paimon_core.limits import TYPE_DEPTH, metadata_text
from paimon_core.types import (
    BIGINT,
    NESTED_ROOTS,
    TINYINT,
    Annotations,
    Child,
    DataType,
    annotated_field,
    parse_type,
    read_annotations,
)

KEY_PREFIX = "_KEY_"
KEY_FIELD_ID_START = 1073741823
_ID_END = 1 << 19
"""Field ids that are given for a new table are used if all are below this number.

The ids of elements, keys and values in data files are 2^29 - 1 plus or minus 1024 times the id of their field or
column; from this number on, the result would be negative.
"""
SEQUENCE_NUMBER = "_SEQUENCE_NUMBER"
VALUE_KIND = "_VALUE_KIND"
ROW_ID = "_ROW_ID"
TRACKING_NAMES = (ROW_ID, SEQUENCE_NUMBER)
"""The additional columns of a table with row tracking, in the order of its files (format 17)."""
RESERVED_NAMES = frozenset({SEQUENCE_NUMBER, VALUE_KIND, "_LEVEL", "rowkind", ROW_ID})
CURRENT_VERSION = 3
_LAST_LOCK = threading.Lock()
_last_millis = [0]
"""The latest ``time_millis`` that this process has given to a schema."""


class RowKind(IntEnum):
    """The effect of a row on its key, as stored in ``_VALUE_KIND`` (format 7.2).

    DO NOT CHANGE: the values are on disk.
    """

    INSERT = 0
    UPDATE_BEFORE = 1
    UPDATE_AFTER = 2
    DELETE = 3


ROW_KINDS = ("+I", "-U", "+U", "-D")
"""The row kinds as text; the index of each is its ``RowKind`` value."""
RETRACTS = frozenset({RowKind.UPDATE_BEFORE, RowKind.DELETE})
"""The row kinds that retract a row; the other row kinds add a row."""


@dataclass(frozen=True, slots=True)
class DataField:
    """One column: a field id that is never reused, a name, a type."""

    id: int
    name: str
    type: DataType
    description: str | None = None
    default: str | None = None

    @property
    def arrow(self) -> pa.Field:
        """The Arrow field, without metadata."""
        return pa.field(self.name, self.type.to_arrow(), nullable=self.type.nullable)

    @property
    def annotated(self) -> pa.Field:
        """The Arrow field; its metadata, which ``new_schema`` reads, has what the Arrow type cannot express."""
        return annotated_field(self.name, Annotations(self.type, self.id, self.description, self.default))

    def to_json(self) -> dict[str, Any]:
        """Return the field as an object of ``fields`` in a schema file; members without a value are left out."""
        return Child(self.name, self.type, self.id, self.description, self.default).to_json()

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> DataField:
        """Parse one object of ``fields``; raises UnsupportedFeature, which names the column, for unsupported types."""
        try:
            kind = parse_type(value["type"])
        except UnsupportedFeature as error:
            raise UnsupportedFeature(
                f"column {value['name']!r}: {error}", column=value["name"], **error.facts
            ) from None
        return DataField(
            _whole(value["id"], "the id of a field"),
            str(value["name"]),
            kind,
            value.get("description"),
            value.get("defaultValue"),
        )


SEQUENCE_FIELD = DataField(2147483646, SEQUENCE_NUMBER, BIGINT.with_nullable(False))
KIND_FIELD = DataField(2147483645, VALUE_KIND, TINYINT.with_nullable(False))
ROW_ID_FIELD = DataField(2147483642, ROW_ID, BIGINT.with_nullable(False))
TRACKING_IDS = frozenset({ROW_ID_FIELD.id, SEQUENCE_FIELD.id})


@dataclass(frozen=True, repr=False)
class TableSchema(Displayed):
    """One version of a table's schema; ``id`` is the number of its file."""

    id: int
    fields: tuple[DataField, ...]
    highest_field_id: int
    partition_keys: tuple[str, ...] = ()
    primary_keys: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None
    time_millis: int = 0

    def _summary(self) -> Summary:
        facts = (
            ("columns", named(self.names)),
            ("primary_key", named(self.primary_keys) if self.primary_keys else None),
            ("partition_by", named(self.partition_keys) if self.partition_keys else None),
        )
        options = ", ".join(f"{key}={value}" for key, value in sorted(self.options.items()))
        header = ("column", "type", "default", "comment")
        rows = [(f.name, f.type, f.default, f.description) for f in self.fields]
        return Summary(f"schema {self.id}", facts, (("options", options or None),), header, rows)

    @cached_property
    def by_name(self) -> dict[str, DataField]:
        """The fields by name."""
        return {f.name: f for f in self.fields}

    @property
    def names(self) -> list[str]:
        """The column names, in order."""
        return [f.name for f in self.fields]

    def select(self, names: Sequence[str]) -> tuple[DataField, ...]:
        """Return the fields with the ``names``, in the same order; raises SchemaMismatch for an unknown name."""
        for name in names:
            if name not in self.by_name:
                raise SchemaMismatch(
                    f"the table has no column {name!r}; the columns are {listed(self.names)}", column=name
                )
        return tuple(self.by_name[name] for name in names)

    def tracked(self, *, id_nullable: bool = False, sequence_nullable: bool = False) -> TableSchema:
        """Return the schema of an append table with the columns ``TRACKING_NAMES`` at the end."""
        row_id = replace(ROW_ID_FIELD, type=ROW_ID_FIELD.type.with_nullable(id_nullable))
        sequence = replace(SEQUENCE_FIELD, type=SEQUENCE_FIELD.type.with_nullable(sequence_nullable))
        return replace(self, fields=(*self.untracked.fields, row_id, sequence))

    @property
    def untracked(self) -> TableSchema:
        """The schema as it is in the schema file, without the columns ``TRACKING_NAMES``."""
        if not self.is_tracked:
            return self
        return replace(self, fields=tuple(f for f in self.fields if f.id not in TRACKING_IDS))

    @property
    def is_tracked(self) -> bool:
        """Whether the schema has the columns ``TRACKING_NAMES``."""
        return bool(self.fields) and self.fields[-1].id == SEQUENCE_FIELD.id

    @property
    def without_row_state(self) -> TableSchema:
        """The schema without the columns sequence number and row kind, which a read of a primary-key table may add."""
        if not self.primary_keys or not {SEQUENCE_NUMBER, VALUE_KIND} & self.by_name.keys():
            return self
        return replace(self, fields=tuple(f for f in self.fields if f not in (SEQUENCE_FIELD, KIND_FIELD)))

    @property
    def partition_fields(self) -> tuple[DataField, ...]:
        """The partition columns, in partition key order."""
        return self.select(self.partition_keys)

    @cached_property
    def trimmed_primary_keys(self) -> tuple[str, ...]:
        """The primary key without the partition keys: the sort order of a bucket (format 2.2)."""
        return tuple(k for k in self.primary_keys if k not in self.partition_keys)

    @property
    def is_cross_partition(self) -> bool:
        """Whether the primary key lacks a partition key, so that rows of one key may belong to several partitions."""
        return bool(self.primary_keys) and not set(self.partition_keys) <= set(self.primary_keys)

    @cached_property
    def key_fields(self) -> tuple[DataField, ...]:
        """The fields of the trimmed primary key, under their table names; () for an append table."""
        return self.select(self.trimmed_primary_keys)

    @cached_property
    def file_key_fields(self) -> tuple[DataField, ...]:
        """The ``_KEY_*`` columns of a data file, which repeat ``key_fields``; () for an append table (format 7.2)."""
        return tuple(DataField(KEY_FIELD_ID_START + f.id, KEY_PREFIX + f.name, f.type) for f in self.key_fields)

    @cached_property
    def file_fields(self) -> tuple[DataField, ...]:
        """The columns of a data file; a primary-key table has ``_KEY_*``, sequence and kind first (format 7.2)."""
        return (*self.file_key_fields, SEQUENCE_FIELD, KIND_FIELD, *self.fields) if self.primary_keys else self.fields

    @cached_property
    def arrow(self) -> pa.Schema:
        """The table's columns as an Arrow schema."""
        return pa.schema([f.arrow for f in self.fields])

    def to_json(self) -> str:
        """Return the text of the schema file; raises InvalidRequest for a text that readers would refuse."""
        out: dict[str, Any] = {
            "version": CURRENT_VERSION,
            "id": self.id,
            "fields": [f.to_json() for f in self.fields],
            "highestFieldId": self.highest_field_id,
            "partitionKeys": list(self.partition_keys),
            "primaryKeys": list(self.primary_keys),
            "options": dict(self.options),
        }
        if self.comment is not None:
            out["comment"] = self.comment
        out["timeMillis"] = self.time_millis
        return metadata_text(json.dumps(out, indent=2, ensure_ascii=False), f"schema {self.id}")

    @staticmethod
    def from_json(text: str | bytes) -> TableSchema:
        """Parse a schema file; raises the errors of ``from_members``, and CorruptTable for invalid JSON."""
        try:
            value = json.loads(text)
        except ValueError as error:
            raise CorruptTable(f"not a schema file: {error!r}") from error
        return TableSchema.from_members(value)

    @staticmethod
    def from_members(value: Any) -> TableSchema:
        """Create a schema from parsed JSON, with the defaults of versions 1 and 2 (format 2.1).

        Raises CorruptTable for JSON that is not a schema, UnsupportedFeature for a newer version and for unsupported
        column types.
        """
        try:
            version = _whole(value.get("version", 1), "version")
            if version > CURRENT_VERSION:
                raise UnsupportedFeature(
                    f"schema version {version} is newer than {CURRENT_VERSION}, the newest supported version",
                    version=version,
                )
            options = {str(k): str(v) for k, v in value["options"].items()}
            if version == 1:
                options.setdefault("bucket", "1")
            if version <= 2:
                options.setdefault("file.format", "orc")
            return TableSchema(
                id=_whole(value["id"], "id"),
                fields=tuple(DataField.from_json(f) for f in value["fields"]),
                highest_field_id=_whole(value["highestFieldId"], "highestFieldId"),
                partition_keys=tuple(map(str, value["partitionKeys"])),
                primary_keys=tuple(map(str, value["primaryKeys"])),
                options=options,
                comment=value.get("comment"),
                time_millis=_whole(value.get("timeMillis", 0), "timeMillis"),
            )
        except UnsupportedFeature:
            raise
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise CorruptTable(f"not a schema file: {error!r}") from error


def _whole(value: Any, name: str) -> int:
    """Return a whole number of JSON; raises CorruptTable for another value."""
    if type(value) is not int:
        raise CorruptTable(f"not a schema file: {name} is {value!r:.80}, not a whole number")
    return value


def new_schema(
    arrow: pa.Schema,
    *,
    primary_key: Sequence[str] = (),
    partition_by: Sequence[str] = (),
    options: Mapping[str, str] | None = None,
    comment: str | None = None,
    types: Mapping[str, str] | None = None,
) -> TableSchema:
    """Create schema 0 of a new table from an Arrow schema; ``types`` maps column names to an exact type text.

    Metadata of the Arrow fields, as ``DataField.annotated`` writes it, gives exact types, comments and defaults. The
    metadata also gives the field ids if every field has a distinct id; otherwise ids count from 0 in column order, and
    the fields of a nested ROW are numbered directly after their column. Primary key columns become NOT NULL. Raises
    InvalidRequest for wrong names and keys, UnsupportedFeature for types that this library does not support.
    """
    columns = [(c.name, _column(c, (types or {}).get(c.name))) for c in arrow]
    known = [number for _, c in columns for number in (c.id, *c.type.field_ids)]
    if not _are_ids(known):
        ids = itertools.count()
        columns = [(n, replace(c, id=next(ids), type=c.type.with_ids(ids))) for n, c in columns]
        known = [number for _, c in columns for number in (c.id, *c.type.field_ids)]
    fields = [DataField(c.id or 0, name, c.type, c.description, c.default) for name, c in columns]
    for name in types or {}:
        if name not in arrow.names:
            raise InvalidRequest(f"types names {name!r}, which is not a column", column=name)
    schema = TableSchema(
        id=0,
        fields=tuple(replace(f, type=f.type.with_nullable(False)) if f.name in primary_key else f for f in fields),
        highest_field_id=max((number or 0 for number in known), default=-1),
        partition_keys=tuple(partition_by),
        primary_keys=tuple(primary_key),
        options=dict(options or {}),
        comment=comment,
        time_millis=new_time_millis(),
    )
    check_schema(schema)
    return schema


def _are_ids(numbers: Sequence[int | None]) -> bool:
    """Whether the numbers are distinct and can be ids of columns and of fields of ROWs, which are below ``_ID_END``."""
    return len(set(numbers)) == len(numbers) and all(n is not None and 0 <= n < _ID_END for n in numbers)


def new_time_millis() -> int:
    """Return the current time in milliseconds, later than every time that this process returned before.

    The time distinguishes tables that were created one after the other under the same name.
    """
    with _LAST_LOCK:
        _last_millis[0] = max(time.time_ns() // 1_000_000, _last_millis[0] + 1)
        return _last_millis[0]


def _column(column: pa.Field, text: str | None) -> Annotations:
    try:
        if text is not None:
            return replace(read_annotations(column.with_type(pa.bool_())), type=parse_type(text))
        return read_annotations(column)
    except RecursionError:
        raise InvalidRequest(
            f"column {column.name!r}: its type has more than {TYPE_DEPTH} levels of nested types", column=column.name
        ) from None
    except InvalidRequest as error:
        raise type(error)(f"column {column.name!r}: {error}", **{**error.facts, "column": column.name}) from None


def check_schema(schema: TableSchema) -> None:
    """Check the rules for names and keys (format 2.2); raises InvalidRequest, which names the column and the rule."""
    names = schema.names
    if not names:
        raise InvalidRequest("a table needs at least one column")
    counts = Counter(names)
    for name in names:
        if name in RESERVED_NAMES or name.startswith(KEY_PREFIX):
            raise InvalidRequest(f"column name {name!r} is reserved", column=name)
        if not name.strip():
            raise InvalidRequest(f"column name {name!r} is blank", column=name)
        if counts[name] > 1:
            raise InvalidRequest(f"column {name!r} appears twice", column=name)
    for role, keys in (("primary key", schema.primary_keys), ("partition key", schema.partition_keys)):
        for key in keys:
            if key not in names:
                raise InvalidRequest(f"{role} {key!r} is not a column; the columns are {listed(names)}", column=key)
            if keys.count(key) > 1:
                raise InvalidRequest(f"{role} {key!r} appears twice", column=key)
            if schema.by_name[key].type.root in NESTED_ROOTS:
                raise InvalidRequest(
                    f"{role} {key!r} is {schema.by_name[key].type}; nested types cannot be keys", column=key
                )
    if schema.primary_keys and not schema.trimmed_primary_keys:
        named = ", ".join(schema.primary_keys)
        raise InvalidRequest(
            f"the primary key ({named}) has only partition keys, so that each partition would have one row: add a "
            "column to the primary key, remove one from the partition keys, or use no primary key",
            keys=schema.primary_keys,
        )

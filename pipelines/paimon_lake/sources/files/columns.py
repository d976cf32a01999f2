"""Columns: the columns of a table with their exact types, and the columns of a file that match them.

An Arrow type does not state everything about a Paimon type: the length of ``CHAR(3)`` and the digits of
``TIMESTAMP(0)`` are in the metadata of the Arrow field, under ``TYPE_KEY``. ``table_schema`` writes this metadata.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import pyarrow as pa

from paimon_core.schema import DataField
from paimon_core.types import BINARY_ROOTS, STRING_ROOTS, DataType, TypeRoot, from_arrow, parse_type
from paimon_lake.declarations.errors import nearest
from paimon_lake.protocol import PipelineError

TYPE_KEY = b"paimon.type"
ACCEPTED_KEY = b"paimon.accepted"
ALLOW_MISSING = "set the option allow_missing_columns: true of the source to read nulls"


@dataclass(frozen=True)
class RowRules:
    """The rules that a row must follow, in addition to the types of its columns."""

    not_null: tuple[str, ...] = ()
    """The key columns and the columns that are NOT NULL."""
    key: tuple[str, ...] = ()
    """The key columns of the files of change events, as the files name them; () for other files."""
    order: tuple[str, ...] = ()
    """The columns that order the changes of a key; a delete must have them as well."""
    source: str = ""
    """The column that gets the name of the table of an event; "" when there is no such column."""
    new_columns: str = "refuse"
    """The action for members of events that the table does not have: ``refuse``, ``ignore`` or ``apply``."""


def table_schema(fields: Sequence[DataField]) -> pa.Schema:
    """Return the Arrow schema of a table's columns, with the exact Paimon types as metadata; all columns are nullable.

    Columns are nullable so that a batch can contain a null until ``RowRules`` rejects its row.
    """
    return pa.schema([arrow_field(f.name, f.type.with_nullable(True)) for f in fields])


def arrow_field(name: str, kind: DataType) -> pa.Field:
    """Return the Arrow field of a Paimon type; the types of nested members are in the metadata of the inner fields."""
    match kind.root:
        case TypeRoot.ARRAY:
            arrow = pa.list_(arrow_field(kind.children[0].name, kind.children[0].type))
        case TypeRoot.MAP:
            key, value = (arrow_field(child.name, child.type) for child in kind.children)
            arrow = pa.map_(key.with_nullable(False), value)
        case TypeRoot.ROW:
            arrow = pa.struct([arrow_field(child.name, child.type) for child in kind.children])
        case _:
            return pa.field(name, kind.to_arrow(), kind.nullable, {TYPE_KEY: kind.with_nullable(True).sql.encode()})
    return pa.field(name, arrow, kind.nullable)


def accepting(field: pa.Field, values: Sequence[str]) -> pa.Field:
    """Return a column of texts that accepts only these values and null; a row with another value is rejected."""
    return field.with_metadata({**(field.metadata or {}), ACCEPTED_KEY: json.dumps(list(values)).encode()})


def accepted_values(field: pa.Field) -> list[str] | None:
    """Return the values that a column accepts; None for a column that accepts all values."""
    text = (field.metadata or {}).get(ACCEPTED_KEY)
    return None if text is None else list(json.loads(text))


def exact_type(field: pa.Field) -> DataType:
    """Return the Paimon type in the metadata of an Arrow field; without it, the type for the Arrow type."""
    text = (field.metadata or {}).get(TYPE_KEY)
    return from_arrow(field.type) if text is None else parse_type(text.decode())


def zero_of(kind: DataType) -> pa.Scalar | None:
    """Return the zero or empty value of a type (None for a ROW), for the NOT NULL columns of a row that deletes."""
    arrow = kind.to_arrow()
    if kind.root is TypeRoot.ROW:
        return None
    if kind.children:
        return pa.scalar([], arrow)
    if kind.root in STRING_ROOTS:
        return pa.scalar("", arrow)
    if kind.root in BINARY_ROOTS:
        return pa.scalar(bytes(kind.length if kind.root is TypeRoot.BINARY else 0), arrow)
    return pa.scalar(False if kind.root is TypeRoot.BOOLEAN else 0, arrow)


def required_columns(schema: pa.Schema, rules: RowRules) -> frozenset[str]:
    """Return the columns that must not be null because of ``rules`` or because ``schema`` has them as NOT NULL.

    Raises PipelineError when a rule names a column that the table does not have.
    """
    for name in rules.not_null:
        if name not in schema.names:
            raise PipelineError(f"NOT NULL names the column {name!r}, but the columns are {', '.join(schema.names)}")
    return frozenset(rules.not_null) | {field.name for field in schema if not field.nullable}


@dataclass(frozen=True)
class Matched:
    """The columns of a file matched with the columns of a table."""

    positions: tuple[int | None, ...]
    """For each column of the table its position in the file; None for a column that the file does not have."""
    extra: tuple[str, ...] = ()
    """The columns of the file that the table does not have."""


def match_columns(
    path: str,
    file_names: Sequence[str],
    schema: pa.Schema,
    required: Collection[str],
    *,
    ignore_extra: bool,
    allow_missing: bool,
) -> Matched:
    """Return which column of a file belongs to which column of a table.

    A column of the table gets the column of the file with exactly its name, else the only column whose name differs
    just in case and surrounding spaces. Raises PipelineError for a name that occurs twice, and for columns that the
    table does not have, unless ``ignore_extra``. Also raises it for a missing column, unless ``allow_missing`` and the
    column is not ``required``.
    """
    repeated = [name for name, count in Counter(file_names).items() if count > 1]
    if repeated:
        raise PipelineError(f"file {path}: the column {repeated[0]!r} occurs {file_names.count(repeated[0])} times")
    folded = Counter(name.strip().casefold() for name in file_names)
    positions = {name: at for at, name in enumerate(file_names)}
    taken = {positions[name] for name in schema.names if name in positions}
    loose = {
        name.strip().casefold(): at
        for at, name in enumerate(file_names)
        if at not in taken and folded[name.strip().casefold()] == 1
    }
    wanted = Counter(name.casefold() for name in schema.names)
    found: list[int | None] = []
    for name in schema.names:
        at = positions.get(name)
        if at is None and wanted[name.casefold()] == 1:
            at = loose.get(name.casefold())
        found.append(at)
    extra = tuple(name for at, name in enumerate(file_names) if at not in found)
    missing = [name for name, at in zip(schema.names, found, strict=True) if at is None]
    if needed := [name for name in missing if name in required]:
        raise missing_columns(path, needed, file_names, extra, ", which must not be null")
    if missing and not allow_missing:
        raise missing_columns(path, missing, file_names, extra, "", ALLOW_MISSING)
    if extra and not ignore_extra:
        raise extra_columns(path, extra, schema)
    return Matched(tuple(found), extra)


def missing_columns(
    path: str, missing: Sequence[str], names: Sequence[str], unused: Sequence[str], rule: str, advice: str = ""
) -> PipelineError:
    """Return the error for columns that a file does not have; the error suggests a column of ``unused``, if one is
    similar.
    """
    advice = f"; {advice}" if advice else ""
    return PipelineError(
        f"file {path} has no column {', '.join(map(repr, missing))}{rule}; its columns are "
        f"{', '.join(map(repr, names))}{advice}{nearest(missing[0], unused)}"
    )


def extra_columns(path: str, extra: Sequence[str], schema: pa.Schema) -> PipelineError:
    """Return the error for columns of a file that the table does not have."""
    return PipelineError(
        f"file {path} has columns that the table does not have: {', '.join(map(repr, extra))}; the table has "
        f"{', '.join(schema.names)}: add the columns, or set ignore_extra_columns: true"
    )

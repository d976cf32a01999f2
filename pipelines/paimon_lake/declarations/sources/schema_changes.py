"""Schema changes: how a declaration relates to a table that loads alter when the columns of its source change."""

from __future__ import annotations

from collections.abc import Mapping

from paimon_core.schema import TableSchema
from paimon_core.types import STRING_ROOTS, DataType, TypeRoot, parse_type
from paimon_lake.declarations.sources.source import Source
from paimon_lake.declarations.table import TableSpec

_NUMBERS = (
    (TypeRoot.TINYINT, TypeRoot.SMALLINT, TypeRoot.INT, TypeRoot.BIGINT),
    (TypeRoot.FLOAT, TypeRoot.DOUBLE),
)
"""Types from narrow to wide, of one kind in each line."""


def alters_table(source: Source | None) -> bool:
    """Whether loads alter the table when the columns of its source change."""
    return getattr(source, "schema_changes", "refuse") == "apply"


def altered_columns(spec: TableSpec, schema: TableSchema) -> Mapping[str, str]:
    """Return the columns of a table that loads may have added or widened, each with the part that fills it.

    A table without parts has "" in the place of the part. ``schema``: the present schema of the table.
    """
    if not spec.parts:
        return dict.fromkeys(schema.names, "") if alters_table(spec.source) else {}
    found: dict[str, str] = {}
    for name, part in spec.parts.items():
        if alters_table(part.source):
            found |= dict.fromkeys(part.columns_in(schema.options), name)
    return found


def as_loaded(spec: TableSpec, schema: TableSchema, *, drop: bool = False) -> TableSpec:
    """Return a declaration with the columns that loads added to its table, and the types that they widened.

    A column that the loads of a part added becomes a column of the part. With ``drop``, added columns are left out, and
    only widened types are taken over. A table whose number of buckets is not declared keeps its fixed number. When
    loads do not alter the table, everything else is as declared.
    """
    spec = _with_buckets(spec, schema)
    altered = altered_columns(spec, schema)
    if not altered or not spec.columns:
        return spec
    columns = dict(spec.columns)
    for field in schema.fields:
        if field.name not in altered:
            continue
        if field.name not in columns:
            if field.type.nullable and not drop:
                columns[field.name] = field.type.sql
        elif is_wider(parse_type(columns[field.name]), field.type):
            columns[field.name] = field.type.sql
    parts = dict(spec.parts)
    for column, name in altered.items():
        if name and column in columns and column not in spec.columns:
            parts[name] = parts[name].model_copy(update={"columns": (*parts[name].columns, column)})
    return spec.model_copy(update={"columns": columns} | ({"parts": parts} if parts else {}))


def _with_buckets(spec: TableSpec, schema: TableSchema) -> TableSpec:
    """Return a declaration that does not state the number of buckets with the fixed number that its table has."""
    number = schema.options.get("bucket", "")
    if not spec.primary_key or "bucket" in spec.options or not number.isdecimal() or int(number) < 1:
        return spec
    return spec.model_copy(update={"options": {**spec.options, "bucket": number}})


def is_same_kind(one: DataType, other: DataType) -> bool:
    """Whether two types are of one kind, such as whole numbers of any size."""
    roots = {one.root, other.root}
    return one.root is other.root or any(roots <= set(kind) for kind in (*_NUMBERS, STRING_ROOTS))


def is_wider(old: DataType, new: DataType) -> bool:
    """Whether ``new`` is of the kind of ``old`` and holds all of its values and more; nullability does not count."""
    if not is_same_kind(old, new) or old.children:
        return False
    for kind in _NUMBERS:
        if old.root in kind:
            return kind.index(old.root) < kind.index(new.root)
    if old.root is TypeRoot.DECIMAL:
        digits = new.precision - new.scale >= old.precision - old.scale
        return new.scale >= old.scale and digits and new.precision > old.precision
    return (old.length or old.precision) < (new.length or new.precision)

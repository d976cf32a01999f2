"""Row shape: how the columns of a file become the columns of a table.

A file has the columns of the table, under the names that ``rename`` maps to columns, without the columns that ``add``
fills. With ``kinds``, it also has the column that says whether a row inserts, updates or deletes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.schema import DataField
from paimon_core.table.table import Table
from paimon_core.types import parse_type
from paimon_lake.declarations import TableSpec
from paimon_lake.declarations.part_spec import PartSpec
from paimon_lake.declarations.sources.kinds import Kinds
from paimon_lake.declarations.sources.source import DatabaseSource, FilesSource, PostgresChangesSource
from paimon_lake.loads.lookup.lookups import Lookups
from paimon_lake.protocol import KIND, PipelineError
from paimon_lake.sources.files.columns import RowRules, accepting, arrow_field
from paimon_lake.sources.files.listing import SourceFile


@dataclass(frozen=True)
class RowShape:
    """The columns of the files, the rules for their rows, and the columns that are added to make rows of the table."""

    file_schema: pa.Schema
    rules: RowRules
    renamed: Mapping[str, str]
    """Maps a column of the file to a column of the table."""
    added: Mapping[str, tuple[str, pa.DataType]]
    """Maps a column of the table to its value, ``partition`` or ``file``, and its type."""
    kinds: Kinds | None
    keeps_kinds: bool = False
    """Whether the column of kinds is also a column of the table."""
    emptied: tuple[str, ...] = ()
    """The columns that are null in rows that delete."""

    @property
    def kinds_column(self) -> str | None:
        """The column of ``table_rows`` that has the kinds +I, +U and -D; None when all rows are inserts."""
        return KIND if self.kinds is not None or self.rules.key else None

    def table_rows(self, rows: pa.RecordBatch, file: SourceFile) -> pa.RecordBatch:
        """Return rows of a file as rows of the table."""
        rows = rows.rename_columns([self.renamed.get(name, name) for name in rows.schema.names])
        for column, (what, kind) in self.added.items():
            text = file.path if what == "file" else file.partition
            rows = rows.append_column(column, pa.repeat(pa.scalar(text, pa.string()).cast(kind), len(rows)))
        if self.kinds is None:
            return without_deleted(rows, self.emptied)
        kinds = kind_texts(rows[self.kinds.column], self.kinds)
        rows = rows if self.keeps_kinds else rows.drop_columns([self.kinds.column])
        return without_deleted(rows.append_column(KIND, kinds), self.emptied)


def shape_of(
    spec: TableSpec,
    source: FilesSource | DatabaseSource | PostgresChangesSource,
    table: Table,
    lookups: Lookups | None = None,
) -> RowShape:
    """Return the shape of the files of a table, or of rows of a database; rows of a database have the column names of
    the table.

    The files lack the columns that ``lookups`` fill, and have the columns by which rows are looked up.

    Raises PipelineError when ``rename`` or ``add`` names a column that the table does not have.
    """
    names = [name for name in table.schema.names if spec.fills(name)]
    by_loads: list[str] = []  # columns that the source need not have, because loads of changes fill them
    if isinstance(source, PostgresChangesSource):
        by_loads = [source.source_column, *spec.order_by]
    source = source if isinstance(source, FilesSource) else FilesSource(type="files", path="rows of a database")
    has_events = source.has_events
    for role, columns in (("rename", source.rename.values()), ("add", source.add)):
        for column in columns:
            if column not in names:
                raise PipelineError(f"{spec.name}: source.{role} names {column!r}, which is not a column of the table")
    named = {column: file for file, column in source.rename.items()}
    filled = {*source.add, *by_loads, *(lookups.targets if lookups is not None else ())}
    fields = {named.get(f.name, f.name): f.type for f in row_fields(spec, table) if f.name not in filled}
    if lookups is not None:
        fields |= {name: kind.with_nullable(True) for name, kind in lookups.only_in_source.items()}
    required = [name for name, kind in fields.items() if not kind.nullable]
    keeps_kinds = spec.kinds is not None and spec.kinds.column in names
    if spec.kinds is not None and not keeps_kinds:
        fields[spec.kinds.column] = parse_type("STRING NOT NULL")
        required.append(spec.kinds.column)
    schema = pa.schema([arrow_field(name, kind.with_nullable(True)) for name, kind in fields.items()])
    if spec.kinds is not None:
        at = schema.get_field_index(named.get(spec.kinds.column, spec.kinds.column))
        texts = (*spec.kinds.insert, *spec.kinds.update, *spec.kinds.delete)
        schema = schema.set(at, accepting(schema.field(at), texts))
    added = {column: (what, table.arrow_schema.field(column).type) for column, what in source.add.items()}
    rules = RowRules(tuple(required))
    if has_events:
        keys = _keys(spec, table, source, named)
        rules = RowRules(tuple(required), *keys, source.source_column, source.schema_changes)
    return RowShape(schema, rules, dict(source.rename), added, spec.kinds, keeps_kinds, emptied_columns(spec))


def row_fields(spec: TableSpec, table: Table) -> tuple[DataField, ...]:
    """Return the columns that loads write; in a part, the columns that order its rows are NOT NULL."""
    fields = (field for field in table.schema.fields if spec.fills(field.name))
    ordering = spec.order_by if isinstance(spec, PartSpec) else ()
    return tuple(replace(f, type=f.type.with_nullable(False)) if f.name in ordering else f for f in fields)


def check_filled(spec: TableSpec, columns: Collection[str]) -> None:
    """Raise PipelineError unless the rows of a part have the columns that the part fills, and no other columns."""
    if not isinstance(spec, PartSpec):
        return
    for column in (*spec.primary_key, *spec.filled):
        if column not in columns:
            raise PipelineError(f"{spec.load_name}: the rows have no column {column!r}, which the part fills")
    for column in columns:
        if column in spec.columns and not spec.fills(column):
            raise PipelineError(
                f"{spec.load_name}: the rows have the column {column!r}, which the part does not fill: leave it out, "
                f"or add it to parts.{spec.part}.columns"
            )


def emptied_columns(spec: TableSpec) -> tuple[str, ...]:
    """Return the columns that must be null in a row that deletes, because Paimon would use their values later."""
    if not isinstance(spec, PartSpec) or not spec.removes_rows:
        return ()
    return tuple(column for column in spec.filled if column not in spec.order_by)


def without_deleted(rows: pa.RecordBatch, emptied: Collection[str]) -> pa.RecordBatch:
    """Return rows of a table with the column ``KIND``, in which the columns ``emptied`` are null in rows -D."""
    if not emptied or KIND not in rows.schema.names:
        return rows
    deletes = pc.equal(rows[KIND], "-D")
    if not pc.any(deletes).as_py():
        return rows
    columns = [
        pc.if_else(deletes, pa.scalar(None, column.type), column) if name in emptied else column
        for name, column in zip(rows.schema.names, rows.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=rows.schema)


def _keys(
    spec: TableSpec, table: Table, source: FilesSource, named: Mapping[str, str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the key of a table, and the columns that order the rows of a key, as files of events name them."""
    field = spec.order_by if isinstance(spec, PartSpec) else table.options["sequence.field"]
    ordering = [name for name in field or () if name not in source.add]
    return tuple(named.get(name, name) for name in table.schema.primary_keys), tuple(named.get(n, n) for n in ordering)


def kind_texts(values: pa.Array, kinds: Kinds) -> pa.Array:
    """Return the kinds +I, +U and -D of the values of a column; raises PipelineError for another value."""
    known = {text: kind for kind, texts in _texts(kinds).items() for text in texts}
    found = pc.index_in(values, pa.array(list(known), pa.string()))
    if found.null_count:
        wrong = values.filter(pc.is_null(found))[0].as_py()
        raise PipelineError(f"column {kinds.column!r} has {wrong!r}, which is not one of {', '.join(known)}")
    return pa.array(list(known.values()), pa.string()).take(found)


def _texts(kinds: Kinds) -> dict[str, tuple[str, ...]]:
    return {"+I": kinds.insert, "+U": kinds.update, "-D": kinds.delete}

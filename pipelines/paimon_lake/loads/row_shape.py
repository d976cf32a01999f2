"""Row shape: how the columns of a file become the columns of a table.

A file has the columns of the table, under the names that ``rename`` maps to columns, without the columns that ``add``
fills. With ``kinds``, it also has the column that says whether a row inserts, updates or deletes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.table.table import Table
from paimon_core.types import parse_type
from paimon_lake.declarations import TableSpec
from paimon_lake.declarations.kinds import Kinds
from paimon_lake.declarations.sources import DatabaseSource, FilesSource, PostgresChangesSource
from paimon_lake.protocol import KIND, PipelineError
from paimon_lake.sources.files.columns import RowRules, accepting, arrow_field
from paimon_lake.sources.files.listing import SourceFile


@dataclass(frozen=True)
class RowShape:
    """The columns of the files, the rules that their rows must follow, and what is added to make rows of the table."""

    file_schema: pa.Schema
    rules: RowRules
    renamed: Mapping[str, str]
    """Maps a column of the file to a column of the table."""
    added: Mapping[str, tuple[str, pa.DataType]]
    """Maps a column of the table to its value, ``partition`` or ``file``, and its type."""
    kinds: Kinds | None
    keeps_kinds: bool = False
    """Whether the column of kinds is a column of the table too."""

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
            return rows
        kinds = kind_texts(rows[self.kinds.column], self.kinds)
        rows = rows if self.keeps_kinds else rows.drop_columns([self.kinds.column])
        return rows.append_column(KIND, kinds)


def shape_of(spec: TableSpec, source: FilesSource | DatabaseSource | PostgresChangesSource, table: Table) -> RowShape:
    """Return the shape of the files of a table, or of the rows of a database, which have the names of the table.

    Raises PipelineError for columns that the table does not have.
    """
    names = table.schema.names
    source = source if isinstance(source, FilesSource) else FilesSource(type="files", path="rows of a database")
    has_events = source.has_events
    for role, columns in (("rename", source.rename.values()), ("add", source.add)):
        for column in columns:
            if column not in names:
                raise PipelineError(f"{spec.name}: source.{role} names {column!r}, which is not a column of the table")
    named = {column: file for file, column in source.rename.items()}
    fields = {named.get(f.name, f.name): f.type for f in table.schema.fields if f.name not in source.add}
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
        keys = _keys(table, source, named)
        rules = RowRules(tuple(required), *keys, source.source_column, source.schema_changes)
    return RowShape(schema, rules, dict(source.rename), added, spec.kinds, keeps_kinds)


def _keys(table: Table, source: FilesSource, named: Mapping[str, str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the key of a table, and the columns that order the rows of a key, as files of events name them."""
    field = table.options["sequence.field"]
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

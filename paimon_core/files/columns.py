"""Columns: which columns of a file are written, and the rows that a reader returns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from paimon_core.errors import SchemaMismatch, listed
from paimon_core.schema import DataField, TableSchema

Select = Callable[[Sequence[str]], Sequence[str]]
"""Given the columns of a file, returns those to read; raises SchemaMismatch when the columns do not fit the table."""


@dataclass(frozen=True)
class Piece:
    """Some rows of a file.

    ``place`` returns where a row is in the file, such as "line 12"; ``text``: returns the row as the file has it, if it
    is a line of text.
    """

    rows: pa.Table
    place: Callable[[int], str]
    text: Callable[[int], str] | None = None

    @staticmethod
    def numbered(rows: pa.Table, first: int) -> Piece:
        """Return rows whose places are row numbers, such as "row 12"; ``first``: the number of the first row."""
        return Piece(rows, partial(_row_number, first))


def _row_number(first: int, row: int) -> str:
    return f"row {first + row}"


def named_fields(schema: TableSchema, columns: Sequence[str] | None, table: str) -> list[DataField]:
    """Return ``columns``, or all columns of the table, in its order; raises SchemaMismatch for an unknown column."""
    for name in columns or ():
        if name not in schema.by_name:
            raise SchemaMismatch(
                f"table {table} has no column {name!r}; its columns are {listed(schema.names)}", column=name
            )
    return [field for field in schema.fields if columns is None or field.name in columns]


def written_fields(schema: TableSchema, columns: Sequence[str] | None, table: str) -> list[DataField]:
    """Return the columns of the table that the files have: ``columns``, or all of them.

    Raises SchemaMismatch for a column that the table does not have, and for a column that is missing in ``columns`` but
    must not be null.
    """
    found = named_fields(schema, columns, table)
    names = {field.name for field in found}
    for field in schema.fields:
        if field.name not in names and not field.type.nullable and field.default is None:
            raise SchemaMismatch(f"column {field.name!r} is NOT NULL and not in columns", column=field.name)
    return found


def selection(path: str, fields: Sequence[DataField], *, is_exact: bool) -> Select:
    """Return the function that selects ``fields`` of the file; with ``is_exact`` the file must have no other column."""
    wanted = [field.name for field in fields]

    def select(names: Sequence[str]) -> Sequence[str]:
        for name in wanted:
            if name not in names:
                raise SchemaMismatch(
                    f"file {path} has no column {name!r}; its columns are {listed(names)}; columns=[...] names the "
                    "columns to write",
                    column=name,
                )
            if list(names).count(name) > 1:
                raise SchemaMismatch(f"file {path} has two columns {name!r}", column=name)
        for name in names:
            if is_exact and name not in wanted:
                raise SchemaMismatch(
                    f"file {path} has the column {name!r}, which the table does not have: columns=[...] names the "
                    "columns to write",
                    column=name,
                )
        return wanted

    return select

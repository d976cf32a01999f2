"""Columns of system tables: their fields, and Arrow tables of the requested columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from operator import attrgetter
from typing import Any

import pyarrow as pa

from paimon_core.schema import DataField
from paimon_core.types import parse_columns

Makers = Mapping[str, Callable[[], Any]]
"""For each column, a function that returns its values as a list or an Arrow array; only requested columns are
computed.
"""


@cache
def fields_of(columns: str) -> tuple[DataField, ...]:
    """Return the fields that a text such as ``file_name STRING NOT NULL, level INT`` defines; ids are positions."""
    return tuple(DataField(at, c.name, c.type) for at, c in enumerate(parse_columns(columns)))


def from_rows(names: str, rows: Iterable[Sequence[Any]]) -> dict[str, Callable[[], Any]]:
    """Return the columns of rows; ``names`` are separated by blanks, and each row has one value per name."""
    kept = list(rows)
    return {name: partial(_at, kept, at) for at, name in enumerate(names.split())}


def _at(rows: Sequence[Sequence[Any]], at: int) -> list[Any]:
    return [row[at] for row in rows]


def from_attributes(objects: Sequence[Any], attributes: Mapping[str, str]) -> dict[str, Callable[[], Any]]:
    """Return columns of attributes of the objects: ``{"level": "file.level"}`` maps a column to an attribute."""
    return {name: partial(_attributes, objects, path) for name, path in attributes.items()}


def _attributes(objects: Sequence[Any], path: str) -> list[Any]:
    return list(map(attrgetter(path), objects))


def arrow_table(fields: Sequence[DataField], makers: Makers) -> pa.Table:
    """Return the Arrow table of the columns ``fields``; no other column is computed."""
    arrays = [_array(makers[f.name](), f.arrow.type) for f in fields]
    return pa.Table.from_arrays(arrays, schema=pa.schema([f.arrow for f in fields]))


def _array(values: Any, kind: pa.DataType) -> Any:
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values if values.type == kind else values.cast(kind)
    return pa.array(values, kind)

"""Data columns: the columns of Arrow data as columns of a table, for a write that adds these columns to the schema."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace

import pyarrow as pa

from paimon_core.errors import UnsupportedFeature
from paimon_core.schema import DataField, TableSchema
from paimon_core.types import BINARY_ROOTS, VARIANT, Child, DataType, TypeRoot, multiset_of, read_annotations

_PANDAS_INDEX = re.compile(r"__index_level_\d+__")
_UNSIGNED = {
    pa.uint8(): TypeRoot.SMALLINT,
    pa.uint16(): TypeRoot.INT,
    pa.uint32(): TypeRoot.BIGINT,
    pa.uint64(): TypeRoot.BIGINT,
}
"""The types that can hold the values of unsigned columns; for uint64, only values below 2^63."""


def data_columns(data: pa.Schema, schema: TableSchema, skipped: Collection[str]) -> list[DataField]:
    """Return the columns of the data that a write may add to the table, with their types.

    Columns in ``skipped``, row labels of pandas, and columns of only nulls without a type are left out. Raises
    UnsupportedFeature, which names the column, for a type that a table cannot have.
    """
    return [
        DataField(-1, column.name, _type(column, schema))
        for column in data
        if column.name not in skipped and not _PANDAS_INDEX.fullmatch(column.name) and not pa.types.is_null(column.type)
    ]


def recognised(found: DataType, held: DataField | Child | None) -> DataType:
    """Return ``found``, a type of data, as the table's column ``held`` declares it.

    A map becomes a MULTISET, and a struct of two binaries a VARIANT, if ``held`` has this type.
    """
    if held is None:
        return found
    kind = held.type
    if kind.root is TypeRoot.VARIANT and found.root is TypeRoot.ROW:
        binaries = {c.name for c in found.children if c.type.root in BINARY_ROOTS}
        return VARIANT if binaries == {"value", "metadata"} and len(found.children) == len(binaries) else found
    if kind.root is TypeRoot.MULTISET and found.root is TypeRoot.MAP:
        return multiset_of(recognised(found.children[0].type, kind.children[0]))
    if kind.root is not found.root:
        return found
    known = {child.name: child for child in kind.children}
    return replace(
        found, children=tuple(replace(c, type=recognised(c.type, known.get(c.name))) for c in found.children)
    )


def _type(column: pa.Field, schema: TableSchema) -> DataType:
    if column.name in schema.by_name and column.type in _UNSIGNED:
        return DataType(_UNSIGNED[column.type])
    try:
        return recognised(read_annotations(column).type, schema.by_name.get(column.name))
    except UnsupportedFeature as error:
        raise UnsupportedFeature(f"column {column.name!r}: {error.message}", column=column.name) from None

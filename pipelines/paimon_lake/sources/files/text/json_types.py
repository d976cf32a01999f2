"""JSON types: the Arrow types in which JSON values are read, and their exact conversion to the types of a table.

Dates, times and binaries are texts in JSON, and are converted as in ``text_values``. Numbers are read in the type of
their column; a text with a number is accepted only for a DECIMAL.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.types import BINARY_ROOTS, STRING_ROOTS, TIMESTAMP_ROOTS, DataType, TypeRoot
from paimon_lake.sources.files.nested_values import convert_nested
from paimon_lake.sources.files.text.text_values import TextRules, convert_text

_TEXTS = STRING_ROOTS | BINARY_ROOTS | TIMESTAMP_ROOTS | {TypeRoot.DATE, TypeRoot.TIME}


def read_type(kind: DataType) -> pa.DataType:
    """Return the Arrow type in which JSON values of a column are read."""
    if kind.root in _TEXTS:
        return pa.string()
    match kind.root:
        case TypeRoot.FLOAT:
            return pa.float64()
        case TypeRoot.ARRAY:
            return pa.list_(read_type(kind.children[0].type))
        case TypeRoot.MAP:
            return pa.map_(read_type(kind.children[0].type), read_type(kind.children[1].type))
        case TypeRoot.ROW:
            return pa.struct([(child.name, read_type(child.type)) for child in kind.children])
    return kind.to_arrow()


def has_root(kind: DataType, root: TypeRoot) -> bool:
    """Whether a type, or a nested member of the type, has this root."""
    return kind.root is root or any(has_root(child.type, root) for child in kind.children)


def convert_json(values: pa.Array, kind: DataType, rules: TextRules) -> tuple[pa.Array, np.ndarray | None]:
    """Convert a column from ``read_type(kind)`` to ``kind``; return flags for rows with a value that does not fit."""

    def leaf(column: pa.Array, member: DataType, path: str) -> tuple[pa.Array, np.ndarray | None]:
        if member.root in _TEXTS:
            return convert_text(column, member, rules)
        if member.root is not TypeRoot.FLOAT:
            return column, None
        return narrowed(column)

    return convert_nested(values, kind, leaf, "")


def narrowed(values: pa.Array) -> tuple[pa.Array, np.ndarray | None]:
    """Convert a DOUBLE column to FLOAT; return flags for finite values that would become infinite (None: none)."""
    narrow = values.cast(pa.float32())
    lost = pc.fill_null(pc.and_(pc.is_inf(narrow), pc.is_finite(values)), False)
    return narrow, np.asarray(lost.to_numpy(zero_copy_only=False)) if pc.any(lost).as_py() else None

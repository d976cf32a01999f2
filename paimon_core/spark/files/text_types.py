"""Text types: the Arrow types with which columns are parsed from text, and the conversion of the parsed texts.

Arrow's parsers convert numbers, booleans, texts, decimals, and timestamps in ISO 8601 or in the format of the option
``timestamp_format``. Arrow's JSON parser has no dates and times: they are parsed as texts and converted here.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.errors import UnsupportedFeature
from paimon_core.schema import DataField
from paimon_core.spark.files.file_format import FileFormat
from paimon_core.types import BINARY_ROOTS, STRUCT_ROOTS, TIMESTAMP_ROOTS, DataType, TypeRoot

_OTHER = BINARY_ROOTS | {TypeRoot.VARIANT, TypeRoot.MAP, TypeRoot.MULTISET}
_DAYS = frozenset({TypeRoot.DATE, TypeRoot.TIME})


def parsed_types(fields: Sequence[DataField], file_format: FileFormat) -> dict[str, pa.DataType]:
    """Return the types with which the columns are parsed.

    Raises UnsupportedFeature for a column that a text file of this kind cannot contain.
    """
    found = {}
    for field in fields:
        if not _is_parsed(field.type, file_format, is_top=True):
            raise UnsupportedFeature(
                f"column {field.name!r} is {field.type}, which {file_format.kind} files cannot contain: use parquet, "
                "or leave the column out with columns=[...]",
                column=field.name,
            )
        found[field.name] = pa.string() if _is_converted(field.type, file_format) else field.type.to_arrow()
    return found


def _is_parsed(kind: DataType, file_format: FileFormat, *, is_top: bool) -> bool:
    if kind.root in _OTHER:
        return False
    if kind.root is TypeRoot.ARRAY or kind.root in STRUCT_ROOTS:
        return file_format.kind == "json" and all(
            _is_parsed(child.type, file_format, is_top=False) for child in kind.children
        )
    return is_top or not (kind.root in _DAYS or (kind.root in TIMESTAMP_ROOTS and bool(file_format.timestamp_format)))


def _is_converted(kind: DataType, file_format: FileFormat) -> bool:
    """Whether a column of a JSON file is parsed as text and then converted by ``converted``."""
    formatted = bool(file_format.timestamp_format) and kind.root in TIMESTAMP_ROOTS
    return file_format.kind == "json" and (kind.root in _DAYS or formatted)


def converted(rows: pa.Table, fields: Sequence[DataField], file_format: FileFormat) -> pa.Table:
    """Return the rows of a JSON file with dates, times and formatted timestamps converted from texts.

    Raises ArrowInvalid for a text that cannot be converted.
    """
    for at, field in enumerate(fields):
        if not _is_converted(field.type, file_format):
            continue
        column, target = rows[field.name], field.type.to_arrow()
        if field.type.root in TIMESTAMP_ROOTS:
            column = pc.strptime(column, file_format.timestamp_format, target.unit)
            column = pc.assume_timezone(column, target.tz) if target.tz else column
        else:
            column = column.cast(target)
        rows = rows.set_column(at, field.name, column)
    return rows

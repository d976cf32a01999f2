"""Text types: the Arrow types with which columns are parsed from text, and the conversion of the parsed texts.

Arrow's parsers convert numbers, booleans, texts, decimals, and timestamps in ISO 8601 or in the format of the option
``timestamp_format``. Arrow's JSON parser has no dates and times, and shifts timestamps with a zone: so dates, times and
timestamps of JSON are parsed as texts, and ``converted`` converts these texts.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.errors import UnsupportedFeature
from paimon_core.files.file_format import FileFormat
from paimon_core.schema import DataField
from paimon_core.types import BINARY_ROOTS, STRUCT_ROOTS, TIMESTAMP_ROOTS, DataType, TypeRoot

_OTHER = BINARY_ROOTS | {TypeRoot.VARIANT, TypeRoot.MAP, TypeRoot.MULTISET}
_ZONE_EXPECTED, _NO_ZONE_EXPECTED = "expected a zone offset", "expected no zone offset"
"""The texts in Arrow's messages about a timestamp that does not fit its column."""


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
        target = field.type.to_arrow()
        found[field.name] = _with_texts(target) if file_format.kind == "json" else target
    return found


def _is_parsed(kind: DataType, file_format: FileFormat, *, is_top: bool) -> bool:
    if kind.root in _OTHER:
        return False
    if kind.root is TypeRoot.ARRAY or kind.root in STRUCT_ROOTS:
        return file_format.kind == "json" and all(
            _is_parsed(child.type, file_format, is_top=False) for child in kind.children
        )
    return is_top or not (
        kind.root is TypeRoot.TIME or (kind.root in TIMESTAMP_ROOTS and bool(file_format.timestamp_format))
    )


def _with_texts(target: pa.DataType) -> pa.DataType:
    """Return the type with texts instead of dates and times, which ``converted`` then converts."""
    if pa.types.is_temporal(target):
        return pa.string()
    if pa.types.is_list(target):
        return pa.list_(target.value_field.with_type(_with_texts(target.value_type)))
    if pa.types.is_struct(target):
        return pa.struct([member.with_type(_with_texts(member.type)) for member in target])
    return target


def converted(rows: pa.Table, fields: Sequence[DataField], file_format: FileFormat) -> pa.Table:
    """Return the rows of a JSON file with dates and times converted from texts.

    Raises ArrowInvalid for a text that cannot be converted.
    """
    for at, field in enumerate(fields):
        column, target = rows[field.name], field.type.to_arrow()
        if _with_texts(target) == target:
            continue
        try:
            if field.type.root in TIMESTAMP_ROOTS and file_format.timestamp_format:
                column = _formatted(column, target, file_format.timestamp_format)
            elif field.type.root is TypeRoot.TIME:  # Arrow has no cast of texts to times
                day = pc.binary_join_element_wise("1970-01-01", column, " ")
                column = day.cast(pa.timestamp(target.unit)).cast(target)
            else:
                column = column.cast(target)
        except pa.ArrowInvalid as error:
            raise pa.ArrowInvalid(with_zone_advice(f"column {field.name!r}: {error}")) from None
        rows = rows.set_column(at, field.name, column)
    return rows


def _formatted(column: pa.ChunkedArray, target: pa.TimestampType, text_format: str) -> pa.ChunkedArray:
    """Return the timestamps of texts in the format ``text_format``.

    Raises ArrowInvalid when the format has a zone (%z) and the column has none, or the reverse.
    """
    parsed = pc.strptime(column, text_format, target.unit)
    is_typed = (parsed.type.tz is None) is (target.tz is None)
    if not is_typed and parsed.null_count < len(parsed):
        raise pa.ArrowInvalid(_NO_ZONE_EXPECTED if target.tz is None else _ZONE_EXPECTED)
    return parsed.cast(target) if is_typed else pa.chunked_array([pa.nulls(len(parsed), target)])


def with_zone_advice(message: str) -> str:
    """Return Arrow's message with an advice if it is about a time zone; return any other message unchanged."""
    if _NO_ZONE_EXPECTED in message:
        return f"{message}; the column is TIMESTAMP without zone: write no zone, or use a column TIMESTAMP_LTZ"
    if _ZONE_EXPECTED not in message:
        return message
    return (
        f"{message.partition('. If ')[0]}; the column is TIMESTAMP_LTZ: write the zone, such as Z or +02:00 (%z in "
        "timestamp_format), or use a column TIMESTAMP without zone"
    )

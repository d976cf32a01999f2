"""Bucket expression: computes the bucket of a row as a Spark SQL expression, inside the JVM.

The bucket is the hash of the row's BinaryRow bytes. Spark's ``hash`` of a binary value is the murmur hash that Paimon
applies to these bytes (format 6.2). So the expression builds the bytes: 8 bytes of header, 8 bytes for each column,
then the strings with more than 7 bytes. Spark's ``hash`` of the columns themselves would give other buckets.
"""

from __future__ import annotations

from collections.abc import Sequence

from paimon_core.schema import DataField
from paimon_core.spark.columns import quoted
from paimon_core.types import STRING_ROOTS, TypeRoot

_MASKS = {
    TypeRoot.TINYINT: "255L",
    TypeRoot.SMALLINT: "65535L",
    TypeRoot.INT: "4294967295L",
    TypeRoot.DATE: "4294967295L",
}
_MAX_COLUMNS = 56
"""With more columns, the null bits would not fit in the first 8 bytes."""


def bucket_expression(fields: Sequence[DataField], buckets: int) -> str | None:
    """Return SQL text for the bucket if all columns are NOT NULL and integers, dates or strings; else None."""
    if len(fields) > _MAX_COLUMNS or not all(_is_expressible(f) for f in fields):
        return None
    fixed: list[str] = []
    variable: list[str] = []
    offset = f"{8 + 8 * len(fields)}L"
    for field in fields:
        name = quoted(field.name)
        if field.type.root in STRING_ROOTS:
            length = f"octet_length({name})"
            padded = f"(if({length} <= 7, 0, cast(ceil({length} / 8) * 8 as int)))"
            fixed.append(_string_slot(name, length, offset))
            variable.append(f"if({length} <= 7, X'', rpad(cast({name} as binary), {padded}, X'00'))")
            offset = f"({offset} + {padded})"
        else:
            fixed.append(_little_endian(_as_long(name, field)))
    image = ", ".join(["X'0000000000000000'", *fixed, *variable])
    return f"abs(hash(concat({image})) % {int(buckets)})"


def _is_expressible(field: DataField) -> bool:
    root = field.type.root
    return not field.type.nullable and (root in _MASKS or root is TypeRoot.BIGINT or root in STRING_ROOTS)


def _as_long(name: str, field: DataField) -> str:
    if field.type.root is TypeRoot.BIGINT:
        return f"cast({name} as bigint)"
    number = f"unix_date({name})" if field.type.root is TypeRoot.DATE else name
    return f"(cast({number} as bigint) & {_MASKS[field.type.root]})"


def _string_slot(name: str, length: str, offset: str) -> str:
    """Return SQL text for a string's slot: up to 7 bytes of the string itself, or offset and length (format 5.2)."""
    short = f"concat(rpad(cast({name} as binary), 7, X'00'), unhex(hex({length} | 128)))"
    pointer = _little_endian(f"(shiftleft({offset}, 32) | cast({length} as bigint))")
    return f"if({length} <= 7, {short}, {pointer})"


def _little_endian(number: str) -> str:
    """Return SQL text for the 8 little-endian bytes of a bigint; uses shifts, as ANSI mode has no cast to binary."""
    swapped = " | ".join(f"shiftleft((shiftrightunsigned({number}, {8 * i}) & 255L), {56 - 8 * i})" for i in range(8))
    return f"unhex(lpad(hex({swapped}), 16, '0'))"

"""Column types: which type of a table holds every value of a type of PostgreSQL."""

from __future__ import annotations

from paimon_core.types import DataType, parse_type
from paimon_lake.sources.database_texts import AS_TEXT

_TYPES = {
    "int2": "SMALLINT",
    "int4": "INT",
    "int8": "BIGINT",
    "float4": "FLOAT",
    "float8": "DOUBLE",
    "bool": "BOOLEAN",
    "bytea": "BYTES",
    "date": "DATE",
    "text": "STRING",
    **dict.fromkeys(sorted(AS_TEXT), "STRING"),
}
_HEADER = 4
"""The number that PostgreSQL adds to lengths and precisions in a type modifier."""
_MOST_DIGITS = 38


def column_type(type_name: str, modifier: int) -> DataType | None:
    """Return the nullable type for a column; None when it cannot be read, or no type of a table holds it.

    ``modifier`` is the type modifier of the column, such as the length of a varchar; -1 for none. A numeric without a
    precision, or with more than 38 digits, becomes a text.
    """
    if type_name.startswith("_"):
        element = column_type(type_name[1:], modifier)
        return None if element is None or element.children else parse_type(f"ARRAY<{element.sql}>")
    text = _TYPES.get(type_name) or _sized(type_name, modifier)
    return None if text is None else parse_type(text)


def _sized(type_name: str, modifier: int) -> str | None:
    match type_name:
        case "varchar" | "bpchar":
            return "STRING" if modifier < _HEADER else f"VARCHAR({modifier - _HEADER})"
        case "numeric":
            precision, scale = (modifier - _HEADER) >> 16, (((modifier - _HEADER) & 0x7FF) ^ 1024) - 1024
            fits = modifier >= _HEADER and 0 <= scale <= precision <= _MOST_DIGITS
            return f"DECIMAL({precision}, {scale})" if fits else "STRING"
        case "timestamp" | "timestamptz":
            zone = " WITH LOCAL TIME ZONE" if type_name == "timestamptz" else ""
            return f"TIMESTAMP({modifier if modifier >= 0 else 6}){zone}"
        case "time" if 0 <= modifier <= 3:  # a TIME of Paimon has milliseconds
            return f"TIME({modifier})"
        case _:
            return None

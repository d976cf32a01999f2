"""Text: the words and examples in the sentence of a check result; at most five examples, each of limited length."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

EXAMPLES = 5
"""The largest number of examples in a sentence."""
_LENGTH = 60
_LISTED = 8


def texts(column: pa.ChunkedArray) -> list[str]:
    """Return the values of a column, converted to texts for a sentence; the whole column is converted."""
    kind = column.type
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):  # Python has no nanoseconds, and no years above 9999
        return ["null" if v is None else _time(v) for v in column.cast(pa.string()).to_pylist()]
    return [shown(value) for value in column.to_pylist()]


def keys_of(rows: pa.Table, columns: Sequence[str]) -> list[str]:
    """Return the values of ``columns``, one text a row: ``17``, or ``(UA, 2013-01-01)`` for several columns."""
    parts = [texts(rows[name]) for name in columns]
    if len(parts) == 1:
        return parts[0]
    return [f"({', '.join(row)})" for row in zip(*parts, strict=True)]


def shown(value: Any) -> str:
    """Return one value as text; a text that is empty, or has commas, blanks at its ends or unprintable characters, is
    quoted.
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, bytes):
        return _cut(f"0x{value[:_LENGTH].hex()}")
    if isinstance(value, str):
        plain = value and value.isprintable() and value == value.strip() and "," not in value
        return _cut(value if plain else repr(value[: _LENGTH + 1]))
    return _cut(str(value))


def listed(values: Iterable[Any]) -> str:
    """Return the first values of a declaration: ``open, paid, shipped``."""
    all_values = list(values)
    more = f", ... ({len(all_values):,} values)" if len(all_values) > _LISTED else ""
    return ", ".join(map(shown, all_values[:_LISTED])) + more


def a(noun: str) -> str:
    """Return the noun with its article."""
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"


def many(count: float, noun: str) -> str:
    """Return the number with its noun: ``1 row``, ``1,204 rows``."""
    return f"{f'{count:,}' if isinstance(count, int) else f'{count:,g}'} {noun}{'' if count == 1 else 's'}"


def of_rows(wrong: int, total: int, where: str) -> str:
    """Return a text such as ``3 of 1,204 rows have``, with ``has`` for one row."""
    return f"{wrong:,} of {total:,} rows{where} {'has' if wrong == 1 else 'have'}"


def _time(text: str) -> str:
    return re.sub(r"(\.\d*?)0+(?=\D|$)", lambda found: found[1].rstrip("."), text)


def _cut(text: str) -> str:
    return text if len(text) <= _LENGTH else f"{text[:_LENGTH]}..."

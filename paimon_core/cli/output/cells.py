"""Cells: values of rows as text for a terminal, with control characters escaped, and as JSON."""

from __future__ import annotations

import datetime
import decimal
import math
import sys
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from paimon_core.cli.output.output import Output

CELL_WIDTH = 60
"""The most characters of a value in a table of text; JSON has all of it."""


def print_rows(out: Output, rows: pa.Table, nothing: str, note: str = "") -> None:
    """Print rows as aligned columns with a ``note`` below them, or as a JSON list of objects."""
    values = python_rows(rows)
    if out.as_json:
        out.say("", [dict(zip(rows.column_names, map(json_value, row), strict=True)) for row in values])
        if note:
            sys.stderr.write(note + "\n")
        return
    header = [text_of(name) for name in rows.column_names]
    out.table(header, [[text_of(value) for value in row] for row in values], nothing, note)


def print_limited(out: Output, rows: pa.Table, limit: int, nothing: str) -> None:
    """Print at most ``limit`` rows; when ``rows`` has more, a note says so."""
    note = f"(the first {limit:,} rows: --limit N prints more)" if len(rows) > limit else ""
    print_rows(out, rows.slice(0, limit), note or nothing, note)


class Columns:
    """Prints rows of several batches as one table: the header once, and columns that only become wider."""

    def __init__(self, out: Output) -> None:
        self._out, self._header, self._widths = out, [""], [0]

    def add(self, rows: pa.Table | pa.RecordBatch) -> None:
        """Print rows; a header comes before the first rows, and before rows with other columns."""
        header = [text_of(name) for name in rows.schema.names]
        texts = [[text_of(value) for value in row] for row in python_rows(rows)]
        if not texts:
            return
        if header != self._header:
            self._header, self._widths, texts = header, [0] * len(header), [header, *texts]
        widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
        self._widths = [max(pair) for pair in zip(self._widths, widths, strict=True)]
        lines = ("  ".join(c.ljust(w) for c, w in zip(row, self._widths, strict=True)).rstrip() for row in texts)
        self._out.say("\n".join(lines), None)


def python_rows(rows: pa.Table | pa.RecordBatch) -> list[tuple[Any, ...]]:
    """Return rows as tuples of Python values; times that Python cannot express are texts."""
    return list(zip(*map(_python_values, rows.columns), strict=True)) if rows.num_columns else [()] * rows.num_rows


def _python_values(column: Any) -> list[Any]:
    try:
        return list(column.to_pylist())
    except (ValueError, OverflowError):  # a year that is less than 1 or more than 9999, or an infinite time
        return [_python_value(value) for value in column]


def _python_value(value: pa.Scalar) -> Any:
    try:
        return value.as_py()
    except (ValueError, OverflowError):
        if pa.types.is_temporal(value.type):
            return f"{value.cast(pa.int64())} as {value.type}"
        return f"a value of type {value.type} that Python cannot express"


def text_of(value: Any) -> str:
    """Return a value in one line of at most CELL_WIDTH characters; null is ``null``."""
    if value is None:
        return "null"
    plain = json_value(value)
    text = escaped(plain if isinstance(plain, str) else str(plain))
    return text if len(text) <= CELL_WIDTH else f"{text[: CELL_WIDTH - 1]}…"


def escaped(text: str) -> str:
    """Return the text in one line: control characters and ends of lines are escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def json_value(value: Any) -> Any:
    """Return a value in JSON types.

    Dates and times are texts in ISO form, binary values are hexadecimal digits, and decimals are texts with all digits.
    JSON has no NaN and no infinity: they are the texts ``nan``, ``inf`` and ``-inf``.
    """
    if isinstance(value, decimal.Decimal) or (isinstance(value, float) and not math.isfinite(value)):
        return str(value)
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dict):
        return {str(key): json_value(one) for key, one in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [json_value(one) for one in value]
    return value

"""Database SQL: the texts of the queries that a load sends to PostgreSQL and SQLite.

Names are quoted. Values are written as checked literals of the types in ``Mark``, not as bound parameters: with bound
parameters, the driver of PostgreSQL would hold the whole result in memory.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from paimon_lake.protocol import PipelineError

_FORMS = {
    "date": re.compile(r"\d{4}-\d\d-\d\d"),
    "timestamp": re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}"),
    "timestamptz": re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z"),
}
_AS_TEXT = {
    "int": "CAST(m AS text)",
    "text": "CAST(m AS text)",
    "date": "to_char(m, 'YYYY-MM-DD')",
    "timestamp": "to_char(m, 'YYYY-MM-DD\"T\"HH24:MI:SS.US')",
    "timestamptz": "to_char(m AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')",
}
TIMES = ("timestamp", "timestamptz")


@dataclass(frozen=True)
class Mark:
    """A value of the watermark column ``column``; ``kind`` is int, text, date, timestamp or timestamptz.

    ``value`` is text: digits for an int, ISO 8601 with microseconds for times, in UTC with ``Z`` for a timestamptz.
    """

    column: str
    kind: str
    value: str

    def literal(self) -> str:
        """Return the value as an SQL literal for both databases.

        Raises PipelineError when the text is not a value of ``kind``.
        """
        if self.kind == "int" and re.fullmatch(r"-?\d{1,19}", self.value):
            return self.value
        if self.kind == "text" and "\0" not in self.value:
            return "'" + self.value.replace("'", "''") + "'"
        if self.kind in _FORMS and _FORMS[self.kind].fullmatch(self.value):
            return f"{self.kind} '{self.value}'"
        raise PipelineError(f"the watermark {self.value!r:.80} of the column {self.column!r} is no {self.kind}")

    def to_json(self) -> dict[str, str | int]:
        """Return the column, the type and the value for the ledger."""
        value = int(self.value) if self.kind == "int" else self.value
        return {"column": self.column, "type": self.kind, "value": value}

    @staticmethod
    def from_json(found: Any) -> Mark:
        """Return the mark that ``to_json`` encoded; raises PipelineError for another value."""
        if isinstance(found, dict) and set(found) == {"column", "type", "value"}:
            mark = Mark(str(found["column"]), str(found["type"]), str(found["value"]))
            mark.literal()
            if mark.to_json() == found:
                return mark
        raise PipelineError(f"the ledger has the watermark {found!r:.80}, which a load of a database did not write")


def quoted(name: str) -> str:
    """Return a name as a quoted SQL identifier."""
    if "\0" in name:
        raise PipelineError(f"{name!r:.80} is no name")
    return '"' + name.replace('"', '""') + '"'


def relation_of(table: str, query: str) -> str:
    """Return a table or a query as SQL to be written after FROM; ``table`` may be ``schema.name``."""
    return ".".join(map(quoted, table.split("."))) if table else f"(\n{query}\n)"


def window(column: str, low: Mark | None, high: Mark | None) -> list[str]:
    """Return the SQL conditions for the rows above ``low`` and up to ``high``; None is no bound."""
    found = [] if low is None else [f"{quoted(column)} > {low.literal()}"]
    return found if high is None else [*found, f"{quoted(column)} <= {high.literal()}"]


def split_conditions(column: str, low: int, high: int, parts: int) -> list[str]:
    """Return SQL conditions that divide ``low`` to ``high`` into equal ranges; each row fulfils exactly one condition.

    The first condition also covers rows below ``low`` and nulls, the last condition also rows above ``high``.
    """
    span, name = high - low + 1, quoted(column)
    parts = min(parts, span)
    if parts < 2:
        return [""]
    starts = [low + span * number // parts for number in range(parts)]
    between = [f"{name} >= {first} AND {name} < {end}" for first, end in pairwise(starts[1:])]
    return [f"({name} < {starts[1]} OR {name} IS NULL)", *between, f"{name} >= {starts[-1]}"]


def select(columns: Sequence[str], relation: str, conditions: Sequence[str]) -> str:
    """Return a SELECT; ``columns`` and ``conditions`` are SQL, and empty conditions are left out."""
    where = " AND ".join(condition for condition in conditions if condition)
    return f"SELECT {', '.join(columns)} FROM {relation} AS source{f' WHERE {where}' if where else ''}"


def greatest(column: str, kind: str, relation: str, low: Mark | None, lag: float) -> str:
    """Return the PostgreSQL query that gives the greatest value to load, as a text; it gives no row when no value is
    above ``low``.

    With a ``lag`` in seconds, the result for a timestamptz is at most the clock of the database minus the lag. A
    timestamp without time zone cannot be compared with this clock, so the lag is subtracted from the greatest value.
    """
    bound = f"max({quoted(column)})"
    back = f"make_interval(secs => {lag!r})"
    if lag and kind == "timestamp":
        bound = f"{bound} - {back}"
    if lag and kind == "timestamptz":
        bound = f"least({bound}, CASE WHEN {bound} IS NOT NULL THEN clock_timestamp() - {back} END)"
    inner = select([f"{bound} AS m"], relation, window(column, low, None))
    above = "" if low is None else f" AND m > {low.literal()}"
    return f"SELECT {_AS_TEXT[kind]} FROM ({inner}) AS bounds WHERE m IS NOT NULL{above}"


def sqlite_kinds(column: str, relation: str) -> str:
    """Return the SQLite query for the types of the values in a column: type, number of rows, greatest value as text."""
    inner = select([f"typeof({quoted(column)}) AS k", "count(*) AS n", f"max({quoted(column)}) AS m"], relation, [])
    return f"SELECT k, n, {sqlite_text('m')} FROM ({inner} GROUP BY 1)"


def sqlite_text(value: str) -> str:
    """Return SQL that converts a SQLite value to a text without loss: a blob to hexadecimal digits, null to "".

    The text is needed because the driver of SQLite chooses the type of a column by its first rows and fails when later
    rows have another type.
    """
    short, long = f"printf('%!.15g', {value})", f"printf('%!.17g', {value})"
    real = f"CASE WHEN CAST({short} AS REAL) = {value} THEN {short} ELSE {long} END"
    return (
        f"CASE typeof({value}) WHEN 'null' THEN '' WHEN 'real' THEN {real} WHEN 'blob' THEN hex({value}) "
        f"ELSE CAST({value} AS TEXT) END"
    )

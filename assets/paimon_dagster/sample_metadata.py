"""Sample metadata: rows of a table as Markdown tables in the metadata of its events.

What is shown is bounded: the rows by the declaration, the columns by ``MOST_COLUMNS``, a value by ``MOST_CHARACTERS``
and a table by ``MOST_BYTES``.
"""

from __future__ import annotations

from typing import Any

import dagster as dg
import pyarrow as pa

from paimon_dagster.markdown import quoted
from paimon_lake.declarations import Settings
from paimon_lake.steps.sample import SampleRows, sample_of

SAMPLE = "paimon/sample"
CHANGES = "paimon/changes"
PROBLEM = "paimon/sample_problem"
MOST_COLUMNS = 30
MOST_CHARACTERS = 60
MOST_BYTES = 16 << 10


def sample_metadata(settings: Settings, name: str) -> dict[str, Any]:
    """Return the rows of a table and of its last commit that its declaration shows; {} without ``sample``.

    Rows that cannot be read do not fail the step, whose work is done; the entry ``paimon/sample_problem`` has the kind
    of the error without its text, which might contain values of hidden columns.
    """
    try:
        found = sample_of(settings, name)
    except Exception as error:
        kind = getattr(error, "kind", type(error).__name__)
        return {PROBLEM: f"the rows cannot be read ({kind}); `paimon-core fsck {name} --deep` says more"}
    if found is None:
        return {}
    metadata = {}
    if found.rows is not None:
        metadata[SAMPLE] = dg.MetadataValue.md(f"{rows_markdown(found.rows)}{_hidden(found)}")
    if found.changes is not None:
        text = f"Rows as snapshot {found.changes_of} wrote them.\n\n{rows_markdown(found.changes)}{_hidden(found)}"
        metadata[CHANGES] = dg.MetadataValue.md(text)
    elif found.note:
        metadata[CHANGES] = dg.MetadataValue.md(quoted(found.note))
    return metadata


def _hidden(found: SampleRows) -> str:
    return f"\n\n{found.hidden} {'column is' if found.hidden == 1 else 'columns are'} hidden." if found.hidden else ""


def rows_markdown(rows: pa.Table) -> str:
    """Return rows as a Markdown table; values do not become markup, and the text says what is left out."""
    names = rows.column_names[:MOST_COLUMNS]
    lines = [_line([quoted(cut(name)) for name in names]), _line(["---"] * len(names))]
    room = MOST_BYTES - sum(map(len, lines))
    values = rows.select(names).to_pylist()
    for row in values:
        line = _line([quoted(cell(row[name])) for name in names])
        room -= len(line.encode()) + 1
        if room < 0:
            break
        lines.append(line)
    left_rows, left_columns = len(values) - len(lines) + 2, rows.num_columns - len(names)
    left = [f"{left_rows} more rows"] if left_rows else []
    left += [f"{left_columns} more columns"] if left_columns else []
    return "\n".join(lines) + (f"\n\nNot shown: {', '.join(left)}." if left else "")


def cell(value: Any) -> str:
    """Return a value as one short line: null for None, the number of bytes for binary values."""
    if value is None:
        return "null"
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    return cut(str(value[: MOST_CHARACTERS + 1]) if isinstance(value, str) else str(value))


def cut(text: str) -> str:
    """Return at most ``MOST_CHARACTERS`` characters, with an ellipsis in place of the rest."""
    return text if len(text) <= MOST_CHARACTERS else f"{text[: MOST_CHARACTERS - 1]}…"


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"

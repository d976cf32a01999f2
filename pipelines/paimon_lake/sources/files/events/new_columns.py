"""New columns: the members of events that the table does not have, with the types that events show.

The schema of an envelope of Debezium states the types. Without a schema, the values show the types: whole numbers are
BIGINT, other numbers DOUBLE, texts STRING. A member that is always null has no type yet.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from paimon_core.types import DataType, parse_type
from paimon_lake.declarations.sources.schema_changes import is_wider
from paimon_lake.protocol import PipelineError
from paimon_lake.sources.files.events.event_columns import form_of

NESTED = "nested"
"""Stands for the type of an object or array; such a type is not determined."""


@dataclass
class NewColumns:
    """The types that were seen for each new member, and those that envelopes state for columns of the table."""

    seen: dict[str, set[str]] = field(default_factory=dict)

    def note_arrow(self, name: str, kind: pa.DataType, stated: Mapping[str, str]) -> None:
        """Note a member that Arrow has read; ``stated``: the types in the schema of the envelope."""
        if name in stated:
            text = stated[name]
        elif pa.types.is_null(kind):
            text = ""
        elif pa.types.is_boolean(kind):
            text = "BOOLEAN"
        elif pa.types.is_integer(kind):
            text = "BIGINT"
        elif pa.types.is_floating(kind):
            text = "DOUBLE"
        else:
            text = NESTED if pa.types.is_nested(kind) else "STRING"  # Arrow reads some texts as times
        self.seen.setdefault(name, set()).add(text)

    def note_value(self, name: str, value: Any, stated: Mapping[str, str]) -> None:
        """Note a member with a JSON value."""
        if name in stated or value is None:
            text = stated.get(name, "")
        else:
            number = "BIGINT" if type(value) is int else "DOUBLE"
            text = {"text": "STRING", "bool": "BOOLEAN", "native": NESTED}.get(form_of(value), number)
        self.seen.setdefault(name, set()).add(text)


def column_types(seen: Mapping[str, Collection[str]], where: str) -> tuple[dict[str, DataType], list[str]]:
    """Return the type of each column that was seen, and the columns that were always null.

    Raises PipelineError for a column with values of several kinds, such as texts and numbers, and for a nested column.
    """
    found: dict[str, DataType] = {}
    unknown = []
    for name, texts in sorted(seen.items()):
        known = sorted({*texts} - {""})
        if NESTED in known or (len(known) > 1 and not _is_chain(known)):
            what = "objects or arrays" if NESTED in known else f"the types {', '.join(known)}"
            raise PipelineError(
                f"{where} has the new column {name!r} with {what}: declare it, and run `paimon-lake apply`"
            )
        if known:
            found[name] = max((parse_type(text) for text in known), key=lambda kind: _rank(kind, known))
        else:
            unknown.append(name)
    return found, unknown


def _is_chain(texts: Collection[str]) -> bool:
    kinds = [parse_type(text) for text in texts]
    return {*texts} == {"BIGINT", "DOUBLE"} or all(
        one == other or is_wider(one, other) or is_wider(other, one) for one in kinds for other in kinds
    )


def _rank(kind: DataType, texts: Collection[str]) -> tuple[int, bool]:
    return sum(is_wider(parse_type(text), kind) for text in texts), kind.sql == "DOUBLE"

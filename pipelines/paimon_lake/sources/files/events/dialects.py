"""Dialects: for each format, the members of an event that state the operation, the table and the rows.

- Debezium: ``{"before": row, "after": row, "op": "c", "source": {"db", "schema", "table"}}``
- Canal: ``{"data": [rows], "old": [changed columns], "type": "INSERT", "isDdl", "database", "table"}``, values as texts
- Maxwell: ``{"data": row, "old": changed columns, "type": "insert", "database", "table"}``
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

INSERT, UPDATE, DELETE = "+I", "+U", "-D"
SCHEMA_CHANGE = "schema change"
"""The name under which skipped events that change columns or tables are counted."""
OTHER_TABLE = "event of other tables"
TOMBSTONE = "tombstone"
_CONTROL = "control event"
_TEXT = pa.string()
_TABLE = {"database": _TEXT, "table": _TEXT}


@dataclass(frozen=True)
class Dialect:
    """One format of events."""

    op: str
    """The member that states the operation."""
    kinds: Mapping[str, str]
    """The values of ``op`` for events that change rows, each with the kind of the changed rows."""
    skipped: Mapping[str, str]
    """The values of ``op`` for events that change no row, each with a name for such events."""
    truncates: frozenset[str]
    """The values of ``op`` for events that empty the table."""
    head: Mapping[str, pa.DataType]
    """The members of an event that are read in addition to the rows."""
    row: str
    """The member with the row after an insert or update."""
    old: str
    """The member with the row before an update, or with its changed columns."""
    deleted: str
    """The member with the row that a delete removes."""
    is_list: bool = False
    """Whether an event has a list of rows."""
    text_numbers: bool = False
    """Whether numbers and booleans are written as texts."""
    epochs: bool = False
    """Whether dates and times may be written as numbers."""
    has_envelope: bool = False
    """Whether an event may be in ``{"schema": ..., "payload": event}``."""
    placeholders: tuple[str, ...] = ()
    """The texts that stand for a value that the event does not have."""


_DEBEZIUM = Dialect(
    op="op",
    kinds={"c": INSERT, "r": INSERT, "u": UPDATE, "d": DELETE},
    skipped={"m": "message"},
    truncates=frozenset({"t"}),
    head={"op": _TEXT, "ddl": _TEXT, "source": pa.struct([("db", _TEXT), ("schema", _TEXT), ("table", _TEXT)])},
    row="after",
    old="before",
    deleted="before",
    epochs=True,
    has_envelope=True,
    placeholders=("__debezium_unavailable_value", "X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ=="),
)
_CANAL = Dialect(
    op="type",
    kinds={"INSERT": INSERT, "UPDATE": UPDATE, "DELETE": DELETE},
    skipped={
        **dict.fromkeys(("CREATE", "ALTER", "ERASE", "QUERY", "RENAME", "CINDEX", "DINDEX"), SCHEMA_CHANGE),
        **dict.fromkeys(("GTID", "XACOMMIT", "XAROLLBACK", "MHEARTBEAT", "TIDB_WATERMARK"), _CONTROL),
    },
    truncates=frozenset({"TRUNCATE"}),
    head={"type": _TEXT, "isDdl": pa.bool_(), **_TABLE},
    row="data",
    old="old",
    deleted="data",
    is_list=True,
    text_numbers=True,
)
_MAXWELL = Dialect(
    op="type",
    kinds={"insert": INSERT, "bootstrap-insert": INSERT, "update": UPDATE, "delete": DELETE},
    skipped={
        **dict.fromkeys(
            (f"{what}-{change}" for what in ("table", "database") for change in ("create", "alter", "drop")),
            SCHEMA_CHANGE,
        ),
        **dict.fromkeys(("bootstrap-start", "bootstrap-complete"), _CONTROL),
    },
    truncates=frozenset({"table-truncate"}),
    head={"type": _TEXT, **_TABLE},
    row="data",
    old="old",
    deleted="data",
)
DIALECTS = {"debezium-json": _DEBEZIUM, "canal-json": _CANAL, "maxwell-json": _MAXWELL}
"""The dialect of each format of events."""

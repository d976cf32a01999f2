"""Position: the point in the log up to which the changes of a table are loaded, and the server, slot and columns to
which this point belongs.

A property of the load's snapshot is the only record of the position. A position is used only with the server, history,
table and publication that it names, because an LSN has no meaning elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from paimon_lake.protocol import PipelineError
from paimon_lake.sources.postgres.lsn import lsn_of, lsn_text

_LATER = ("made", "file_node", "ignored")
"""The keys that positions written by earlier versions do not have."""


@dataclass(frozen=True)
class Position:
    """All transactions whose commit begins before ``lsn`` are loaded, and no other one."""

    lsn: int
    system: str
    """The identifier of the server's cluster."""
    timeline: int
    database: str
    table: str
    relation: int
    """The object identifier of the table."""
    columns: Mapping[str, list[Any]]
    """For each column of the table in the lake: name, number, type and type modifier of the source's column."""
    known: list[str]
    """The names of all columns that the source had when it was copied."""
    slot: str
    publication: str
    publication_version: str
    made: int = 0
    """The number of columns that were ever created in the source at this position, including dropped columns; 0: not
    known.
    """
    file_node: int = 0
    """The file node of the source at this position; PostgreSQL changes it when the table is rewritten or truncated."""
    ignored: list[str] = field(default_factory=list)
    """The columns that were added to the source after it was copied, and that loads left out."""

    @property
    def relations(self) -> tuple[int, ...]:
        """The object identifiers of the source tables."""
        return (self.relation,)

    @property
    def reach(self) -> int:
        """The LSN from which on the table is a state of the source."""
        return self.lsn

    def to_json(self) -> dict[str, Any]:
        """Return the position for the ledger."""
        return {**asdict(self), "lsn": lsn_text(self.lsn)}

    @staticmethod
    def from_json(found: Any) -> Position:
        """Return the position that ``to_json`` wrote; raises PipelineError for any other value."""
        try:
            names = [one.name for one in fields(Position)]
            if not set(names[: -len(_LATER)]) <= set(found) <= set(names):
                raise ValueError("its keys differ")
            position = Position(**{**found, "lsn": lsn_of(found["lsn"])})
            for text in (position.system, position.database, position.table, position.slot, position.publication):
                text.encode()
            if any(len(column) != 4 for column in position.columns.values()):
                raise ValueError("its columns differ")
        except (AttributeError, TypeError, ValueError, KeyError):
            raise PipelineError(
                f"the ledger has the position {found!r:.80}, which a load of changes did not write: load with reload"
            ) from None
        return position

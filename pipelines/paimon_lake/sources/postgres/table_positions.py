"""Table positions: for each of several tables of PostgreSQL, the point in the log up to which its changes are loaded
into one table.

The tables share a server, a slot and a publication. Each table has an LSN of its own, because a table that was
added later was copied at a later state of the source.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from paimon_lake.protocol import PipelineError
from paimon_lake.sources.postgres.lsn import lsn_text
from paimon_lake.sources.postgres.position import Position

_SHARED = ("system", "timeline", "database", "slot", "publication")


@dataclass(frozen=True)
class TablePositions:
    """The position of each source table, by its name ``schema.name``; there is at least one."""

    tables: Mapping[str, Position]

    @property
    def lsn(self) -> int:
        """All transactions whose commit begins before this LSN are loaded."""
        return min(position.lsn for position in self.tables.values())

    @property
    def reach(self) -> int:
        """The LSN from which on the table is a state of the source: the greatest LSN of the source tables."""
        return max(position.lsn for position in self.tables.values())

    @property
    def relations(self) -> tuple[int, ...]:
        """The object identifiers of the source tables."""
        return tuple(position.relation for position in self.tables.values())

    @property
    def system(self) -> str:
        """The identifier of the server's cluster."""
        return self._first.system

    @property
    def timeline(self) -> int:
        """The timeline of the server."""
        return self._first.timeline

    @property
    def database(self) -> str:
        """The database of the server."""
        return self._first.database

    @property
    def slot(self) -> str:
        """The slot that keeps the log from the position on."""
        return self._first.slot

    @property
    def publication(self) -> str:
        """The publication of the tables."""
        return self._first.publication

    @property
    def _first(self) -> Position:
        return next(iter(self.tables.values()))

    def to_json(self) -> dict[str, Any]:
        """Return the positions for the ledger; a value that is the same for all tables occurs once."""
        tables = {}
        for name, position in self.tables.items():
            found = position.to_json()
            tables[name] = {key: value for key, value in found.items() if key not in (*_SHARED, "table")}
        shared = {name: getattr(self, name) for name in _SHARED}
        return {"lsn": lsn_text(self.lsn), **shared, "tables": tables}

    @staticmethod
    def from_json(found: Any) -> TablePositions:
        """Return the positions that ``to_json`` wrote; raises PipelineError for any other value."""
        if not isinstance(found, Mapping) or not isinstance(found.get("tables"), Mapping) or not found["tables"]:
            raise PipelineError(
                f"the ledger has the position {found!r:.80}, which is not one of several tables: load with reload"
            )
        shared = {name: found.get(name) for name in _SHARED}
        return TablePositions(
            {
                name: Position.from_json({**(one if isinstance(one, Mapping) else {}), **shared, "table": name})
                for name, one in found["tables"].items()
            }
        )


def position_of(entry: Any) -> Position | TablePositions:
    """Return the position of one or of several source tables in a ledger; raises PipelineError for any other value."""
    has_tables = isinstance(entry, Mapping) and "tables" in entry
    return TablePositions.from_json(entry) if has_tables else Position.from_json(entry)

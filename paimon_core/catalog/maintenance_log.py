"""MaintenanceLog: the outcomes of maintenance as a table of the warehouse, which every engine can read.

The rows are in the append table ``paimon_maintenance.outcomes``; ``sys.maintenance`` shows the same rows. The state of
places between rounds (hysteresis, waiting, back-off) is a property of the snapshots of this table, so that it changes
together with the outcomes.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from paimon_core.errors import CorruptTable, NotFound, SnapshotNotFound
from paimon_core.health.plan.history import History, Place
from paimon_core.health.plan.outcome import COLUMNS, Outcome
from paimon_core.metadata import clock
from paimon_core.predicate import col
from paimon_core.table.table import Table
from paimon_core.table.upkeep.maintenance_report import outcome_rows

DATABASE = "paimon_maintenance"
TABLE = f"{DATABASE}.outcomes"
OPTIONS = {"bucket": "-1", "snapshot.ignore-empty-commit": "false"}
"""A round that does no work may change histories, and then commits no rows."""
HISTORIES = "paimon-core.maintenance.histories"
"""The property of a snapshot: JSON, compressed by zlib, as base64."""
DAYS = 30
"""Older outcomes do not count in predictions."""
_MOST_TEXT = 4 << 20
_MOST_BYTES = 256 << 20
_MILLIS_A_DAY = 86_400_000


class Tables(Protocol):
    """The catalog operations that the log uses."""

    def create_database(self, name: str, *, ignore_if_exists: bool = False) -> None:
        """Create a database."""

    def create_table(
        self, name: str, schema: Any, *, options: Mapping[str, Any] | None = None, ignore_if_exists: bool = False
    ) -> Table:
        """Create a table."""

    def table(self, name: str) -> Table:
        """Open a table."""


@dataclass(frozen=True)
class MaintenanceLog:
    """The log of one catalog; its table is created by the first ``append``."""

    catalog: Tables

    def outcomes(self) -> list[Outcome]:
        """Return the outcomes of the last 30 days, the oldest first; raises PaimonError when they cannot be read."""
        table = self._table()
        if table is None:
            return []
        since = clock.now_millis() - DAYS * _MILLIS_A_DAY
        rows = table.scan(where=col("started_millis") >= since).to_arrow().sort_by("started_millis").to_pylist()
        return [Outcome.of_row(row) for row in rows]

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of ``sys.maintenance``, the oldest first."""
        table = self._table()
        if table is not None:
            rows = table.scan().to_arrow().sort_by("started_millis").to_pylist()
            yield from (tuple(row.values()) for row in rows)

    def histories(self) -> dict[Place, History]:
        """Return the histories that the last round left; {} if no snapshot has them.

        Raises CorruptTable for a property that cannot be decoded.
        """
        table = self._table()
        latest = None if table is None else table.latest_snapshot()
        if table is None or latest is None:
            return {}
        snapshots = table.context.snapshots
        for number in range(latest.id, 0, -1):  # compactions of the log have no histories
            try:
                text = snapshots.read(number).properties.get(HISTORIES)
            except SnapshotNotFound:
                return {}
            if text is not None:
                return _decoded(text)
        return {}

    def append(self, outcomes: Sequence[Outcome], histories: Mapping[Place, History]) -> None:
        """Add the outcomes of a round, and keep the histories; raises PaimonError when they cannot be written."""
        table = self._table()
        if not outcomes and (dict(histories) == self.histories()):
            return
        if table is None:
            self.catalog.create_database(DATABASE, ignore_if_exists=True)
            table = self.catalog.create_table(TABLE, COLUMNS, options=OPTIONS, ignore_if_exists=True)
        properties = {HISTORIES: _encoded(histories)}
        if outcomes:
            table.write(outcome_rows(outcomes), properties=properties)
        else:
            table.commit([], properties=properties)

    def _table(self) -> Table | None:
        try:
            return self.catalog.table(TABLE)
        except NotFound:
            return None


def _encoded(histories: Mapping[Place, History]) -> str:
    """Return the histories as text; if there are too many, those that failed or waited least are left out."""
    rows = [(*place, h.wanted, h.waited, h.failures, h.failed_millis) for place, h in histories.items()]
    rows.sort(key=lambda row: (row[-2], row[-3]), reverse=True)
    while True:
        packed = base64.b64encode(zlib.compress(json.dumps(rows, separators=(",", ":")).encode())).decode()
        if len(packed) <= _MOST_TEXT:
            return packed
        rows = rows[: len(rows) // 2]


def _decoded(text: str) -> dict[Place, History]:
    try:
        unpacked = zlib.decompressobj().decompress(base64.b64decode(text, validate=True), _MOST_BYTES)
        return {Place(*row[:5]): History(*row[5:]) for row in json.loads(unpacked)}
    except (ValueError, TypeError, zlib.error) as error:
        raise CorruptTable(f"table {TABLE}: property {HISTORIES} of a snapshot cannot be decoded: {error}") from error

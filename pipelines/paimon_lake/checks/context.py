"""CheckContext: the input of a check in addition to the rows: the time, the history of loads, the partitions of the
load.

The history of loads is read from the snapshots of the commit user ``load <table>``, or ``load <table> part <part>``.
Their properties state how many rows a load read, wrote and rejected (decision 0021).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from paimon_core.errors import CorruptTable
from paimon_core.predicate import Predicate
from paimon_core.table.view import TableView
from paimon_lake.loads.ledger.load_properties import (
    PARTITION_COUNT,
    ROWS_READ,
    ROWS_REJECTED,
    ROWS_RETRIED,
    ROWS_WAITING,
    ROWS_WRITTEN,
    is_load_user,
    part_of,
)
from paimon_lake.protocol import PipelineError
from paimon_lake.sources.lag import Lag

_WITHOUT_ROWS = ("COMPACT", "ANALYZE")
"""The kinds of snapshots that do not change the rows that a reader sees."""


@dataclass(frozen=True)
class LoadRecord:
    """The numbers of rows and partitions of one load, from the properties of its snapshot."""

    rows_read: int
    rows_written: int
    """The number of rows that the load wrote. In the modes ``upsert`` and ``changes`` a row is a change, so a key may
    count twice.
    """
    rows_rejected: int
    snapshot_id: int
    committed_at: datetime
    partitions: int | None = None
    """The number of partitions that the load read; None for a load that is not divided by partitions."""
    part: str = ""
    """The part of the table that was loaded; "" for a table without parts."""
    rows_waiting: int = 0
    """The rows that the load read and that wait for rows of other tables."""
    rows_retried: int = 0
    """The rows that waited before, and that the load wrote or rejected."""

    @property
    def is_equal(self) -> bool:
        """Whether each row was written or rejected, or waits."""
        return self.rows_read + self.rows_retried == self.rows_written + self.rows_rejected + self.rows_waiting


@dataclass(frozen=True)
class CheckContext:
    """The values that checks use in addition to the table; ``now`` must have a time zone."""

    now: datetime
    where: Predicate | None = None
    """A filter for the rows of the checked partitions; None: all rows. ``run_check`` says which types of checks use
    it."""
    history: Sequence[LoadRecord] = ()
    """The loads of the table, newest last; the load that is checked is included."""
    tables: Mapping[str, TableView] = field(default_factory=dict)
    """The other tables that SQL checks may name, by ``database.table``."""
    lag: Callable[[], Lag | Exception] = lambda: PipelineError("the source was not asked")
    """Asks the source of the table for its lag."""

    def __post_init__(self) -> None:
        if self.now.tzinfo is None:
            raise ValueError(f"now must have a time zone: {self.now}")


def load_records(table: TableView) -> list[LoadRecord]:
    """Return the loads whose snapshots have not expired, newest last, up to the snapshot that a view is pinned to.

    Snapshots of the commit user of loads that state no numbers of rows are left out: they only copy the ledger. Raises
    CorruptTable when a number of rows is not a whole number.
    """
    return [_record(table.name, snapshot) for snapshot in _history(table) if _is_load(table, snapshot)]


def newest_write(table: TableView) -> datetime | None:
    """Return the time of the newest snapshot that changed rows; None when there is none or all have expired."""
    changes = (s for s in _history(table) if s["commit_kind"] not in _WITHOUT_ROWS)
    # A snapshot of the commit user of loads without numbers of rows changes no row: it only copies the ledger.
    times = [
        s["commit_time_utc"] for s in changes if not is_load_user(s["commit_user"], table.name) or _is_load(table, s)
    ]
    return times[-1] if times else None


def _is_load(table: TableView, snapshot: Mapping[str, Any]) -> bool:
    is_change = snapshot["commit_kind"] not in _WITHOUT_ROWS
    return is_change and is_load_user(snapshot["commit_user"], table.name) and ROWS_READ in snapshot["properties"]


def _history(table: TableView) -> list[dict[str, Any]]:
    """Return the snapshots up to the view's snapshot, ascending, with their properties as dicts."""
    rows: list[dict[str, Any]] = table.inspect.snapshots().to_pylist()
    for row in rows:
        row["properties"] = dict(row["properties"] or ())
    if (pinned := table.pinned) is None:
        return rows
    draft = {
        "snapshot_id": pinned.id,
        "commit_user": pinned.commit_user,
        "commit_kind": str(pinned.commit_kind),
        "commit_time_utc": datetime.fromtimestamp(pinned.time_millis / 1000, UTC),
        "properties": pinned.properties,
    }
    return [*(row for row in rows if row["snapshot_id"] < pinned.id), draft]


def _record(table: str, snapshot: Mapping[str, Any]) -> LoadRecord:
    read, written, rejected = (_figure(table, snapshot, name) for name in (ROWS_READ, ROWS_WRITTEN, ROWS_REJECTED))
    partitions = _figure(table, snapshot, PARTITION_COUNT) if PARTITION_COUNT in snapshot["properties"] else None
    waiting, retried = (
        _figure(table, snapshot, name) if name in snapshot["properties"] else 0 for name in (ROWS_WAITING, ROWS_RETRIED)
    )
    at, part = snapshot["commit_time_utc"], part_of(snapshot["commit_user"])
    return LoadRecord(read, written, rejected, snapshot["snapshot_id"], at, partitions, part, waiting, retried)


def _figure(table: str, snapshot: Mapping[str, Any], name: str) -> int:
    text = snapshot["properties"].get(name, "")
    if text.isascii() and text.isdigit() and len(text) < 20:
        return int(text)
    raise CorruptTable(
        f"{table}: snapshot {snapshot['snapshot_id']} has {name} = {text!r:.40}, not a whole number",
        table=table,
        snapshot=snapshot["snapshot_id"],
    )

"""Lookups: the values that the tasks of a load need to look up columns; the object is sent to the tasks.

``JoinRule`` is one lookup, ``WaitingRows`` the rows that wait since earlier loads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from paimon_core.metadata.abort import abort
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.schema import DataField
from paimon_core.spark.reference import TableReference
from paimon_core.types import DataType
from paimon_lake.loads.lookup.dimension import Dimension


@dataclass(frozen=True)
class JoinRule:
    """One lookup: the dimension, the columns that give its key, the columns that it fills, and the action for a row
    without a match.
    """

    dimension: Dimension
    on: tuple[str, ...]
    """The columns of the source, in the order of the key of the dimension."""
    columns: Mapping[str, str]
    """Maps a column of the table to a column of the dimension."""
    missing: str
    """The action for a row without a match: ``null``, ``reject`` or ``wait``."""
    max_wait_ms: int
    after_wait: str


@dataclass(frozen=True)
class WaitingRows:
    """The table of the rows that wait, at the snapshot that a load continues."""

    reference: TableReference
    snapshot: int | None
    """The snapshot with the rows that waited before the load; None when no row waited, or when a load replaces all
    rows.
    """
    key: tuple[DataField, ...]
    """The primary key of the loaded table; () for a table without a key."""
    is_due: bool
    """Whether rows are tried again: a dimension has changed since the last load, or a row has waited long enough."""


@dataclass(frozen=True)
class Lookups:
    """The lookups of a load."""

    fields: tuple[DataField, ...]
    """The columns of the loaded table that the load writes: in a part of a wide table, its key and its own columns."""
    rules: tuple[JoinRule, ...]
    only_in_source: Mapping[str, DataType]
    """The columns of the source that the load does not write, and by which rows are looked up."""
    load: int
    """The number of the load."""
    now_ms: int
    """When the load began, in milliseconds since 1970."""
    removes_rejected: bool
    """Whether a rejected row removes the older row with its key, as in tables that follow a database."""
    emptied: tuple[str, ...]
    """The columns that are null in rows that delete."""
    waiting: WaitingRows | None
    """The waiting rows; None when no rule lets rows wait."""

    @property
    def targets(self) -> frozenset[str]:
        """The columns of the table that the source does not have."""
        return frozenset(column for rule in self.rules for column in rule.columns)

    @property
    def keeps_order(self) -> bool:
        """Whether one task must read all rows of a key, because a newer row replaces a row that waits."""
        return self.waiting is not None and bool(self.waiting.key)

    @property
    def retries(self) -> bool:
        """Whether this load tries waiting rows again."""
        return self.waiting is not None and self.waiting.snapshot is not None and self.waiting.is_due

    def without_waiting(self) -> Lookups:
        """Return these lookups for a load that ignores the rows that waited before."""
        if self.waiting is None:
            return self
        return replace(self, waiting=replace(self.waiting, snapshot=None, is_due=False))


def abort_waiting(lookups: Lookups | None, messages: Sequence[CommitMessage]) -> None:
    """Delete the files of waiting rows that a load wrote and does not commit."""
    if lookups is not None and lookups.waiting is not None:
        abort(messages, lookups.waiting.reference.open())

"""Step: one attempt to load a table, and the plan that its source makes for it."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol

from paimon_core.metadata.abort import abort
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.table.table import Table
from paimon_core.table.view import TableView
from paimon_lake.declarations import Settings, TableSpec
from paimon_lake.declarations.part_spec import PartSpec
from paimon_lake.declarations.sources.source import SqlSource
from paimon_lake.loads.ledger.ledger import Ledger
from paimon_lake.loads.lookup.lookups import Lookups, abort_waiting
from paimon_lake.loads.partitions.partition_keys import rows_of
from paimon_lake.loads.rejected.reject_rows import Stamp
from paimon_lake.loads.replacement import Replace
from paimon_lake.loads.write_tasks import WriteResult
from paimon_lake.session import Spark


@dataclass(frozen=True)
class LoadStep:
    """One attempt to load a table, or some of its partitions."""

    spark: Spark
    settings: Settings
    spec: TableSpec
    table: Table
    rejects: Table
    ledger: Ledger
    number: int
    """The number under which the load commits."""
    partitions: tuple[str, ...] | None = None
    """The keys of the requested partitions, sorted; None for a load of the whole table."""
    run_key: str = ""
    """Identifies the run, with the same value when the run is repeated; "" for a run by hand, which is never a
    repetition.
    """
    reload: bool = False
    """Whether to load files and rows again that were loaded before."""
    meanwhile: Ledger = field(default_factory=Ledger)
    """The loads that concurrent processes have committed since the first attempt of this load began."""
    at: datetime = field(default_factory=lambda: datetime.now(UTC))
    """When this attempt began."""
    listed: Snapshot | None = None
    """The latest snapshot of the table before its ledger was read; None for a table without one."""
    lookups: Lookups | None = None
    """How the tasks look up columns of other tables; None for a source without lookups."""

    @property
    def stamp(self) -> Stamp:
        """The values of the columns of rejects that describe this load."""
        return Stamp(self.number, self.at)

    @property
    def replaces(self) -> bool:
        """Whether the rows of the load replace existing rows: by ``write_mode``, or by a reload with
        ``replaces_on_reload``.
        """
        mode = self.spec.write_mode
        return mode in ("overwrite", "overwrite-partitions") or (self.reload and self.replaces_on_reload)

    @property
    def replaces_on_reload(self) -> bool:
        """Whether a reload of the whole table replaces its rows: true if a row that is loaded twice would count twice.

        When rows are lost, this is also true for a table that does not show the newest row of each key, and for a table
        from changes of inputs, because a reload does not read lost deletions again.
        """
        if self.spec.adds_up:
            return True
        if isinstance(self.spec, PartSpec):  # the rows also have the columns of other parts
            return False
        reads_changes = isinstance(self.spec.source, SqlSource) and self.spec.source.read == "changes"
        return bool(self.ledger.lost) and (reads_changes or self.table.options["merge-engine"] != "deduplicate")

    def replacement(self, keys: Sequence[str] | None) -> Replace | None:
        """Return which rows a load of the partitions ``keys`` replaces; None when it replaces no rows.

        With ``overwrite-partitions``, a load with keys replaces the partitions of the keys, and a load of a table
        without declared partitions replaces the partitions that occur in its rows. Every other load replaces
        everything.
        """
        if not self.replaces:
            return None
        if self.spec.write_mode != "overwrite-partitions" or (not keys and self.spec.partitions is not None):
            return Replace(everything=True)
        if not keys or self.spec.partitions is None:
            return Replace()
        return Replace(where=rows_of(self.spec, self.table, keys, self.spec.partitions))


@dataclass(frozen=True)
class PlannedLoad:
    """The plan of one load: what it will read and write. Its rows are read only when ``write`` is called."""

    write: Callable[[], WriteResult]
    entries: Mapping[str, str] = field(default_factory=dict)
    """The properties of the snapshot that record in the ledger what was loaded."""
    details: Mapping[str, str | int | float] = field(default_factory=dict)
    replace: Replace | None = None
    inputs: Mapping[str, TableView] = field(default_factory=dict)
    """The inputs by name, pinned to the snapshots that are read; blocking checks see the same snapshots."""
    rejects_of: Container[str] = ()
    """The values of the column ``file`` of rejects that the load replaces, because the load reads the source of these
    rows again.
    """
    left_out: Sequence[str] = ()
    """The data of the source that the load does not read, with the reasons, one sentence each."""
    stale: Mapping[str, str] = field(default_factory=dict)
    """The partitions that the load leaves stale, with the reason of each."""
    schema_changes: Sequence[str] = ()
    """The changes in the columns of the source since the last load, one sentence each."""
    has_more: bool = False
    """Whether the same run plans another load from the source after this load."""
    continues: bool = False
    """Whether the load must directly follow the newest load of the ledger. If another load was committed since, the
    load is planned again.
    """
    lookups: Lookups | None = None
    """How the tasks look up columns of other tables; None for a source without lookups."""
    clears_waiting: bool = False
    """Whether the rows that waited before no longer wait, although the load replaces no rows of the table."""


@dataclass(frozen=True)
class NothingToLoad:
    """Why a load has nothing to read, one sentence each, and the snapshot that it committed without rows, if any."""

    reasons: Sequence[str]
    details: Mapping[str, str | int | float] = field(default_factory=dict)
    snapshot: int | None = None
    """The id of the snapshot that the load committed without rows, to record new versions of files; None when it
    committed none."""
    note: str = ""
    """A text that describes the record of the snapshot; "" without a snapshot."""


def abort_written(step: LoadStep, written: WriteResult) -> None:
    """Delete the files that the tasks of a load wrote, when the load is not committed."""
    abort(written.messages, step.table.context)
    abort(written.rejects, step.rejects.context)
    abort_waiting(step.lookups, written.waiting)


class TableSource(Protocol):
    """A source of rows."""

    def plan(self, step: LoadStep) -> PlannedLoad | NothingToLoad:
        """Return the plan of the load, or the reasons why there is nothing to load.

        Raises TableAltered after the columns of the table were changed: the load is planned again.
        """

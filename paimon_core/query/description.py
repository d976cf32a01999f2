"""ScanDescription: the columns, rows and options of a scan. RowsSource: where the rows of a scan come from.

A description may be read several times; each read uses the snapshot of its ``plan``, which is made once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, Self

import pyarrow as pa

from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.plan.plan_scan import ScanPlan
from paimon_core.predicate import Predicate
from paimon_core.read.columns import result_fields
from paimon_core.read.damaged_files import DamagedFiles
from paimon_core.read.parallel_batches import HELD_BYTES
from paimon_core.read.request import ReadRequest


@dataclass(frozen=True, slots=True)
class Batching:
    """How the batches of a scan are read; see ``Scan.to_batches``."""

    ordered: bool = True
    threads: int | None = None
    """The number of splits to read at the same time.

    None: at most 8, fewer with fewer processors, 1 with a limit or for small files on the local disk.
    """
    held_bytes: int | None = HELD_BYTES
    """The bytes of batches that may wait for the consumer; None: no bound."""


@dataclass(frozen=True)
class ScanDescription:
    """The columns, the filter and the limit of a scan, the snapshot, and the source of the rows."""

    context: TableContext
    source: RowsSource
    snapshot: Snapshot | None
    """The snapshot to read: the pinned snapshot, or the snapshot that was the latest when the scan was created."""
    columns: tuple[str, ...]
    where: Predicate | None = None
    limit: int | None = None
    pinned: bool = True
    """Whether only ``snapshot`` may be read; otherwise a newer snapshot is read when ``snapshot`` has expired."""
    created_from: int | None = None
    """Epoch milliseconds: only files that were created then or later are read; None: all."""

    @cached_property
    def plan(self) -> ScanPlan:
        """The splits to read, and how many files each kind of pruning left out.

        Raises SnapshotNotFound when the snapshot has expired, TableNotFound when the table was dropped or re-created,
        UnsupportedFeature when the rows have no splits.
        """
        return self.source.plan(self)

    @cached_property
    def damaged(self) -> DamagedFiles | None:
        """The damaged files that reads of this scan have left out; None unless options ``scan.ignore-*`` are set."""
        return DamagedFiles.of(self.context.options)

    @property
    def request(self) -> ReadRequest:
        """The columns and the filter of each read of a split."""
        return ReadRequest(self.columns, self.where, damaged=self.damaged)

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the result."""
        return pa.schema([f.arrow for f in result_fields(self.context.schema, self.columns)])

    @property
    def filters_metadata(self) -> bool:
        """Whether ``where`` tests columns that are not in the table, such as the path of the file."""
        return self.where is not None and not self.where.columns <= self.context.schema.by_name.keys()

    @property
    def ignored_files(self) -> tuple[str, ...]:
        """The paths of the damaged data files that reads of this scan have left out so far in this process, sorted.

        Always empty without the options ``scan.ignore-lost-files`` and ``scan.ignore-corrupt-files``. Rows that were
        read from a damaged file before the read reached the damage are in the result.
        """
        return () if self.damaged is None else tuple(sorted(self.damaged.found))

    def with_plan_of(self, other: ScanDescription) -> Self:
        """Return this description with the plan of ``other``, if it was made; both scans must have the same splits."""
        if "plan" in other.__dict__:
            self.__dict__["plan"] = other.plan
        return self

    def with_damaged_of(self, other: ScanDescription) -> Self:
        """Return this description; damaged files that its reads leave out are added to the list of ``other``."""
        self.__dict__["damaged"] = other.damaged
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("plan", "damaged")}


class RowsSource(Protocol):
    """The source of the rows of a scan: a frozen value that can be pickled.

    In each method, ``scan`` is the scan that has this source.
    """

    def plan(self, scan: ScanDescription) -> ScanPlan:
        """Return the splits that contain the rows; raises UnsupportedFeature when the source has no splits."""

    def batches(self, scan: ScanDescription, batching: Batching) -> Iterator[pa.RecordBatch]:
        """Yield the rows, at most ``limit``, as batches of the scan's schema."""

    def count(self, scan: ScanDescription) -> int:
        """Return the number of rows, at most ``limit``."""

    def count_by_partition(self, scan: ScanDescription) -> pa.Table:
        """Return the number of rows of each partition; see ``Scan.count_by_partition``."""

    def explain(self, scan: ScanDescription, *, analyze: bool) -> Any:
        """Return an explanation of the files and rows that the scan reads; ``str`` of the result is a readable text.

        See ``Scan.explain``.
        """

    def narrowed(self, scan: ScanDescription) -> RowsSource:
        """Return the source for ``scan``, a copy of this source's scan with other columns or another filter."""

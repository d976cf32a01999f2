"""Changes: all rows that changed between two versions of a table, with their row kinds, as Arrow data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from paimon_core.display import Displayed, Summary, named
from paimon_core.errors import InvalidRequest, SnapshotNotFound
from paimon_core.frames.source import optional_package
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.table_identity import check_same_table
from paimon_core.plan.changed_places import Place
from paimon_core.plan.changelog_plan import changed_files, check_producer
from paimon_core.predicate import Predicate, Where
from paimon_core.query.scan import new_scan
from paimon_core.read.changelog_reader import ROW_KIND, read_changed_file
from paimon_core.schema import TRACKING_NAMES
from paimon_core.table.changes.difference import as_changes, difference
from paimon_core.table.changes.history import read_history
from paimon_core.table.changes.proof import Proof, prove
from paimon_core.table.changes.segments import Planner, Segment, Way
from paimon_core.table.changes.versions import EMPTY, Bound, Version, find_version, known, version_of

if TYPE_CHECKING:
    import pandas
    import polars

WAYS = ("auto", *(way.value for way in Way))
SNAPSHOT_ID = pa.field("_SNAPSHOT_ID", pa.int64(), nullable=False)
COMMIT_TIME = pa.field("_COMMIT_TIME", pa.timestamp("ms", "UTC"), nullable=False)


@dataclass(frozen=True, repr=False)
class Changes(Displayed):
    """The changes between two versions, which can be read several times.

    The range of snapshots is fixed when the value is created and does not include later snapshots. A read returns all
    changes of the range, or raises SnapshotNotFound when one of its snapshots expires or is rolled back before the
    files of the snapshot are read.
    """

    context: TableContext
    start: Version
    end: Version
    segments: tuple[Segment, ...]
    columns: tuple[str, ...]
    where: Predicate | None = None
    with_commit: bool = False

    def _summary(self) -> Summary:
        facts = (
            ("start", self.start.name),
            ("end", self.end.name),
            ("columns", named(self.columns, self.context.schema.names)),
            ("where", self.where),
        )
        rows = [(s.way.value, f"{s.start + 1} to {s.end}", s.reason) for s in self.segments]
        return Summary(self.context.name, facts, header=("found by", "snapshots", "reason"), rows=rows)

    @property
    def ways(self) -> tuple[tuple[str, int, int], ...]:
        """Return (way, start, end) for each part of the range: how the changes after snapshot ``start`` up to ``end``
        are found.

        The way is "changelog", "delta" or "diff".
        """
        return tuple((segment.way.value, segment.start, segment.end) for segment in self.segments)

    @property
    def is_typed(self) -> bool:
        """Whether each row of kind -U or -D is a row that existed, and each +I is a row with a new key.

        If False, some rows have the row kinds that the writer gave them; then only the last row of each key counts.
        """
        raw = self.context.is_keyed and self.context.options["changelog-producer"] in ("none", "input")
        return not any(
            (s.way is Way.DELTA and self.context.is_keyed) or (s.way is Way.CHANGELOG and raw) for s in self.segments
        )

    def explain(self) -> str:
        """Return a text with the way in which each part of the range is read, and the reason."""
        lines = [f"changes of {self.context.name} from {self.start.name} (exclusive) to {self.end.name} (inclusive)"]
        lines += [f"  {s.way.value:<10} snapshots {s.start + 1} to {s.end}: {s.reason}" for s in self.segments]
        return "\n".join(lines if self.segments else [*lines, "  nothing changed"])

    @cached_property
    def schema(self) -> pa.Schema:
        """``rowkind``, then (if ``with_commit`` is set) ``_SNAPSHOT_ID`` and ``_COMMIT_TIME``, then ``columns``."""
        commit = [SNAPSHOT_ID, COMMIT_TIME] if self.with_commit else []
        return pa.schema([ROW_KIND, *commit, *(f.arrow for f in self.context.schema.select(self.columns))])

    def to_batches(self) -> pa.RecordBatchReader:
        """Return the changes as a stream, in bounded memory: ordered by snapshot, then by partition and bucket."""
        return pa.RecordBatchReader.from_batches(self.schema, self._batches())

    def to_arrow(self) -> pa.Table:
        """Return the changes as one Arrow table."""
        return self.to_batches().read_all()

    def to_pandas(self) -> pandas.DataFrame:
        """Return the changes as a pandas DataFrame; raises InvalidRequest when pandas is not installed."""
        optional_package("pandas", "to_pandas")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """Return the changes as a polars DataFrame; raises InvalidRequest when polars is not installed."""
        return optional_package("polars", "to_polars").from_arrow(self.to_arrow())

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.to_batches().__arrow_c_stream__(requested_schema)

    def prove(self) -> Proof:
        """Compare the rows of the start version plus the changes with the rows of the end version, by bucket.

        The comparison uses the number and the hashes of the rows, with all columns and without ``where``. The call
        reads both versions and all changes. A difference is recorded in the proof and raises no error; ``Proof.check``
        raises an error for a difference. Raises SnapshotNotFound when a version expired.
        """
        start, end = known(self.context, self.start), known(self.context, self.end)
        whole = replace(self, columns=tuple(self.context.schema.names), where=None, with_commit=False)
        return prove(self.context, start, end, whole.placed(), is_typed=self.is_typed)

    def _batches(self) -> Iterator[pa.RecordBatch]:
        for _, snapshot, batch in self._told():
            yield self._with_commit(batch, snapshot) if self.with_commit else batch

    def placed(self) -> Iterator[tuple[Place, pa.RecordBatch]]:
        """Yield the changes without ``_SNAPSHOT_ID`` and ``_COMMIT_TIME``, each batch with its partition and bucket."""
        for place, _, batch in self._told():
            yield place, batch

    def _told(self) -> Iterator[tuple[Place, Snapshot | None, pa.RecordBatch]]:
        for segment in self.segments:
            check_same_table(self.context)
            if segment.way is Way.DIFF:
                yield from self._difference(segment)
                continue
            by_changelog = segment.way is Way.CHANGELOG
            for snapshot in segment.snapshots:
                with self.context.manifests.reading(snapshot):
                    for file in changed_files(self.context, snapshot, changelog=by_changelog):
                        for batch in read_changed_file(self.context, file, self.columns, self.where):
                            yield (file.partition, file.bucket), snapshot, batch

    def _difference(self, segment: Segment) -> Iterator[tuple[Place, Snapshot | None, pa.RecordBatch]]:
        for placed in difference(self.context, segment.before, segment.after, self.where):
            for batch in as_changes(self.context, placed.rows, self.columns, self.where):
                yield placed.place, segment.after, batch

    def _with_commit(self, batch: pa.RecordBatch, snapshot: Snapshot | None) -> pa.RecordBatch:
        number, time = (0, 0) if snapshot is None else (snapshot.id, snapshot.time_millis)
        ids = pa.array(np.full(len(batch), number, np.int64))
        times = pa.array(np.full(len(batch), time, np.int64)).cast(COMMIT_TIME.type)
        kinds, *values = batch.columns
        return pa.RecordBatch.from_arrays([kinds, ids, times, *values], schema=self.schema)


def changes_between(
    context: TableContext,
    pinned: Snapshot | None,
    start: Bound,
    end: Bound,
    *,
    columns: Sequence[str] | None = None,
    where: Where | None = None,
    way: str = "auto",
    with_commit: bool = False,
) -> Changes:
    """Return the changes of a table; see ``Table.changes``."""
    _check_way(context, way)
    if way != Way.DIFF:
        check_producer(context)
    check_columns(context, columns)
    scan = new_scan(context, pinned, columns, where, None)
    first, last = _range(context, pinned, start, end)
    if way == Way.DIFF:
        segments = one_difference(context, first, last)
    else:
        segments = Planner(context, way, with_commit).segments(read_history(context, first, last))
    return _checked(Changes(context, first, last, segments, scan.columns, scan.where, with_commit))


def check_columns(context: TableContext, columns: Sequence[str] | None) -> None:
    """Raise SchemaMismatch when ``columns`` contain columns of row tracking: changes have no row ids."""
    tracking = [name for name in columns or () if name in TRACKING_NAMES]
    if tracking and isinstance(columns, list | tuple):
        context.schema.select(tracking)


def _checked(changes: Changes) -> Changes:
    for field in (SNAPSHOT_ID, COMMIT_TIME):
        if changes.with_commit and field.name in changes.columns:
            raise InvalidRequest(f"the table has a column {field.name}: with_commit cannot add one", column=field.name)
    return changes


def one_difference(context: TableContext, first: Version, last: Version) -> tuple[Segment, ...]:
    """Return one segment, the difference of two versions; for equal versions, return no segment.

    Raises SnapshotNotFound for a version that cannot be read.
    """
    before, after = known(context, first).snapshot, known(context, last).snapshot
    if before == after:
        return ()
    return (Segment(Way.DIFF, first.id, last.id, "as asked for", before=before, after=after),)


def _check_way(context: TableContext, way: str) -> None:
    if way not in WAYS:
        raise InvalidRequest(f"way must be one of {', '.join(WAYS)}, not {way!r:.40}", table=context.name)
    if way == Way.CHANGELOG and not (context.is_keyed and context.options["changelog-producer"] != "none"):
        raise InvalidRequest(
            f"table {context.name} has no changelog: it needs a primary key and the option changelog-producer",
            table=context.name,
        )


def _range(context: TableContext, pinned: Snapshot | None, start: Bound, end: Bound) -> tuple[Version, Version]:
    first = EMPTY if start is None else find_version(context, start, "start")
    if end is None:
        last = version_of(pinned or context.snapshots.latest())
    else:
        last = find_version(context, end, "end")
        if pinned is not None and last.id > pinned.id:
            raise InvalidRequest(
                f"table {context.name} is pinned to snapshot {pinned.id}: "
                f"end must be at most {pinned.id}, not {last.id}"
            )
    newest = pinned.id if pinned is not None else (context.snapshots.latest_id() or 0)
    for version in (first, last):
        if version.snapshot is None and version.id > newest:
            raise SnapshotNotFound(
                f"table {context.name} has no snapshot {version.id}: its latest snapshot is {newest or 'none'}",
                table=context.name,
                snapshot=version.id,
            )
    return first, last

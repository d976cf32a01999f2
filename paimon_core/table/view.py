"""TableView: a table to read, at its latest snapshot or pinned to a snapshot; ``Table`` adds the methods that write.

A view never becomes a ``Table``: ``at`` and ``lease`` return views, the draft of ``Table.prepare`` is a view, and the
methods ``with_options``, ``branch`` and ``refresh`` of a view return views. So a function that gets a view cannot write
(decision 0051).
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from paimon_core.argument_checks import epoch_millis, whole
from paimon_core.display import Displayed, Summary
from paimon_core.errors import InvalidRequest, UnsupportedFeature
from paimon_core.metadata import time_travel
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.latest_snapshot import read_latest
from paimon_core.metadata.microseconds import in_microseconds
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.statistics import Statistics
from paimon_core.metadata.table_identity import check_same_table, refreshed, same_table, within_same_table
from paimon_core.options import OptionValue, TableOptions
from paimon_core.options.scan_position import CREATION_TIME, FILE_TIME, scan_position, selects_changes
from paimon_core.plan.split import Split
from paimon_core.predicate import Where
from paimon_core.query.fallback import fallback_scan, refuse_other_branch
from paimon_core.query.scan import Scan, new_scan
from paimon_core.schema import TableSchema
from paimon_core.table import on_demand

if TYPE_CHECKING:
    import polars

    from paimon_core.health.finding import Health
    from paimon_core.health.thresholds import Thresholds
    from paimon_core.query.row_explanation import RowExplanation
    from paimon_core.table.changes.changes import Changes
    from paimon_core.table.changes.diff import Diff
    from paimon_core.table.changes.versions import Bound
    from paimon_core.table.inspect import Inspect
    from paimon_core.table.refs.leases import Lease, LeaseTag
    from paimon_core.table.refs.tags import Tags
    from paimon_core.table.system.system_table import SystemScan, SystemTable

_NAMES = (
    "alter analyze branches callbacks commit committed compact complete delete expire_snapshots filter_committed "
    "maintain maintenance mend merge overwrite overwrite_spec plan_compaction plan_maintenance prepare "
    "prepare_messages prepared rescale rewrite_file_index rollback run_compaction settle sort_compact stream update "
    "with_callbacks write writer"
)
METHODS_OF_TABLES = frozenset(_NAMES.split())
"""The methods that only ``Table`` has. A view raises AttributeError, which says how to get the table."""


@dataclass(frozen=True, repr=False)
class TableView(Displayed):
    """One table to read; ``pinned`` is the snapshot that reads use, None for the latest snapshot."""

    context: TableContext
    pinned: Snapshot | None = None

    @property
    def name(self) -> str:
        """``database.table``."""
        return self.context.name

    @property
    def schema(self) -> TableSchema:
        """The schema of the pinned snapshot; if no snapshot is pinned, the schema with which the table was opened."""
        return self.context.schema

    @property
    def arrow_schema(self) -> pa.Schema:
        """The columns as an Arrow schema.

        The metadata of the schema contain the exact types, field ids, comments and defaults: ``create_table`` with this
        schema makes a table with the same columns.
        """
        return pa.schema([f.annotated for f in self.context.schema.fields])

    @property
    def options(self) -> TableOptions:
        """The parsed options."""
        return self.context.options

    @property
    def location(self) -> str:
        """The root directory of the table."""
        return self.context.paths.root

    def _summary(self) -> Summary:
        return on_demand.table_summary(self.context, self.pinned)

    if not TYPE_CHECKING:  # hidden from type checkers and completion: a view has no such method

        def __getattr__(self, name: str) -> object:
            if name in METHODS_OF_TABLES and not hasattr(type(self), name):
                shown = on_demand.place(self.context, self.pinned)
                raise AttributeError(
                    f"table {shown} is read-only: call {name} on catalog.table({self.name!r})", name=name
                )
            return object.__getattribute__(self, name)  # raises the AttributeError of Python or of a property

    def latest_snapshot(self) -> Snapshot | None:
        """Return the pinned snapshot, or the latest; None for a table without snapshots. Ignores options ``scan.*``.

        Without a pinned snapshot, raises TableNotFound when the table was dropped or re-created.
        """
        found = self._position()
        if self.pinned is None:
            check_same_table(self.context)
        return found

    def _position(self) -> Snapshot | None:
        return self.pinned or self.context.snapshots.latest()

    def scan(
        self,
        columns: Sequence[str] | None = None,
        where: Where | None = None,
        limit: int | None = None,
        *,
        timestamps_in_micros: bool = False,
    ) -> Scan:
        """Describe a read, which runs later; raises SchemaMismatch for unknown columns or literals of a wrong type.

        ``where`` is a predicate such as ``col("x") > 1``, a text such as ``"x > 1"``, or an Arrow expression.

        The read uses the pinned snapshot. Without a pinned snapshot, it uses the snapshot that options ``scan.*``
        select (see ``reading``), with the columns of that snapshot, or otherwise the latest snapshot. Under the options
        ``incremental-*`` the read returns the rows that were added or changed in the selected range of snapshots, as in
        Java; ``changes`` returns all changes. Under ``scan.file-creation-time-millis`` the read merges only the files
        that were created at that time or later, as in Java. Rows of a key in older files are ignored. A compaction
        counts as the creation of the rows that it rewrites.

        A TIMESTAMP of 7 to 9 digits is returned in nanoseconds, which cover the years 1677 to 2262; for other years the
        read raises UnsupportedFeature. With ``timestamps_in_micros``, columns of this type, except keys and sequence
        fields, are cut to microseconds, in ``where`` too, and all years can be read.
        """
        position = None if self.pinned is not None else scan_position(self.options)
        if position is not None and selects_changes(*position):
            refuse_other_branch(self.context)
            return on_demand.incremental_scan(
                self.context, *position, columns, where, limit, micros=timestamps_in_micros
            )
        created_from = self._created_from(position)
        table = self._selected() if created_from is None else self
        context = in_microseconds(table.context) if timestamps_in_micros else table.context
        scan = new_scan(context, table._position(), columns, where, limit, pinned=table.pinned is not None)
        scan = replace(scan, created_from=created_from)
        return fallback_scan(scan, columns, where, micros=timestamps_in_micros)

    def _created_from(self, position: tuple[str, Any] | None) -> int | None:
        """Return the creation time (epoch milliseconds) from which on files are read; None: all files are read."""
        option, value = position or ("", 0)
        is_given = option == FILE_TIME or (
            option == CREATION_TIME and time_travel.after_time(self.context, value) is None
        )
        return int(value) if is_given else None

    def read_split(
        self, split: Split | bytes, columns: Sequence[str] | None = None, where: Where | None = None
    ) -> pa.RecordBatchReader:
        """Return the rows of a split that another process has planned: ``scan(columns, where).read(split)``.

        ``columns`` and ``where`` must be the same as in the scan that planned the split, because the split lacks the
        files that ``where`` excluded.
        """
        return self.scan(columns, where).read(split)

    def to_polars_lazy(self) -> polars.LazyFrame:
        """Return all rows as a polars LazyFrame: ``scan().to_lazy()``."""
        return self.scan().to_lazy()

    def reading(self) -> TableView:
        """Return the view that reads of this table use: pinned if options ``scan.*`` select a snapshot, else ``self``.

        A view that ``at`` has pinned is returned unchanged. Raises UnsupportedFeature for options ``scan.*`` that
        select no single snapshot or are not supported, InvalidOption for options ``scan.*`` that contradict each other,
        SnapshotNotFound or TagNotFound when the selected snapshot or tag does not exist.
        """
        refuse_other_branch(self.context)
        return self._selected()

    def _selected(self) -> TableView:
        if self.pinned is not None:
            return self
        self.options.check_scannable(self.name)
        position = scan_position(self.options)
        if position is None:
            return self
        if selects_changes(*position) or self._created_from(position) is not None:
            raise UnsupportedFeature(
                f"table {self.name} has option {position[0]} = {position[1]}: only a scan supports it",
                option=position[0],
            )
        with within_same_table(self.context):
            found = time_travel.by_option(self.context, *position)
        return self._at(found)

    def statistics(self) -> Statistics | None:
        """Return the statistics of the last ``analyze`` in the pinned or latest snapshot; None if there are no
        statistics.
        """
        if self.pinned is not None:
            return self._statistics(self.pinned)
        return read_latest(self.context.snapshots, self._statistics)

    def _statistics(self, snapshot: Snapshot | None) -> Statistics | None:
        check_same_table(self.context)
        name = None if snapshot is None else snapshot.statistics
        return None if name is None else Statistics.read(self.context.storage, self.context.paths.statistics(name))

    def changes(
        self,
        start: Bound = None,
        end: Bound = None,
        *,
        columns: Sequence[str] | None = None,
        where: Where | None = None,
        way: str = "auto",
        with_commit: bool = False,
    ) -> Changes:
        """Return all changes from ``start`` (exclusive) to ``end`` (inclusive): rows with their kinds, as Arrow data.

        A bound is a snapshot id, a ``Snapshot``, a text (the name of a tag, else a time in ISO format) or a datetime. A
        time selects the snapshot that was the latest at that time; without time zone it is local time. ``start`` None
        or 0: from the beginning; ``end`` None: the pinned snapshot, or the latest. Applied in order to the rows of
        ``start``, the changes give the rows of ``end``: -D and -U remove a row, +I and +U add a row. With a primary
        key, -D and -U remove the row of the key, and +I and +U set it. The first column is ``rowkind``; ``with_commit``
        adds ``_SNAPSHOT_ID`` and ``_COMMIT_TIME``. ``where`` tests each row of the changes separately.

        ``way`` selects how the changes are found. "auto" takes the changelog of snapshots that have a complete
        changelog, the new files (the delta) of snapshots that only added rows, and the difference of two versions for
        other snapshots, such as overwrites. A difference may combine the changes of several snapshots, except under
        ``with_commit``. "changelog" and "delta" return the rows as they were written, and a difference only for
        overwrites; "diff" computes one difference of ``start`` and ``end``. The method ``explain`` of the result says
        how the changes of each part of the range are found; the method ``prove`` checks the result.

        Raises SnapshotNotFound naming the snapshot that has expired (also during the read) or never existed,
        InvalidRequest for a wrong bound or ``way``, SchemaMismatch for ``columns`` and ``where`` that do not fit.
        """
        refuse_other_branch(self.context)
        return on_demand.changes_between(
            self.context, self.pinned, start, end, columns=columns, where=where, way=way, with_commit=with_commit
        )

    def diff(self, a: Bound, b: Bound, columns: Sequence[str] | None = None, where: Where | None = None) -> Diff:
        """Return the changes that turn version ``a`` into version ``b``; see the bounds of ``changes``.

        With a primary key, a changed row is -U with the row in ``a`` and +U with the row in ``b``. Without a primary
        key, -D is a row that ``a`` has more often than ``b``, and +I a row that ``b`` has more often; the files of the
        rows do not matter. Only two kinds of files are read: files that one version has and the other version lacks,
        and files whose key ranges overlap with such a file. Raises the errors of ``changes``.
        """
        refuse_other_branch(self.context)
        return on_demand.diff_between(self.context, a, b, columns, where)

    def at(
        self,
        *,
        snapshot: int | None = None,
        tag: str | None = None,
        time: datetime.date | str | int | None = None,
        watermark: int | None = None,
        version: str | int | None = None,
    ) -> TableView:
        """Return a view of this table, pinned to one of its snapshots (format 15.4).

        ``snapshot`` is an id. ``time`` selects the snapshot that was the latest at that time: a datetime or a text in
        ISO format (naive: local time), a date (its first moment, local time) or epoch milliseconds. ``watermark``, in
        epoch milliseconds, selects the first snapshot with a watermark at or after it. ``version`` is a tag's name,
        else "watermark-<millis>", else an id. Raises InvalidRequest unless exactly one argument is given,
        SnapshotNotFound or TagNotFound when the snapshot or the tag does not exist.
        """
        if sum(v is not None for v in (snapshot, tag, time, watermark, version)) != 1:
            raise InvalidRequest("at() takes exactly one of snapshot, tag, time, watermark and version")
        context = self.context
        with within_same_table(context):
            if tag is not None:
                found = context.tags.read(tag).snapshot
            elif snapshot is not None:
                found = time_travel.by_id(context, whole("snapshot", snapshot))
            elif watermark is not None:
                found = time_travel.from_watermark(context, whole("watermark", watermark))
            elif version is not None:
                text = version if isinstance(version, str) else whole("version", version)
                found = time_travel.by_version(context, text)
            else:
                found = context.snapshots.as_of(epoch_millis(time))
        return self._at(found)

    def _at(self, found: Snapshot) -> TableView:
        schema = self.context.schemas.read(found.schema_id)
        return TableView(self.context.with_schema(schema), found)

    def lease(self, keep_for: datetime.timedelta, *, holder: str = "") -> Lease[TableView]:
        """Protect the snapshot of a long read from expiry for at most ``keep_for``; ``with`` gives a view pinned to it.

        >>> with table.lease(timedelta(hours=2), holder="nightly") as leased:  # doctest: +SKIP
        ...     leased.scan().to_arrow()

        The snapshot is the pinned one, or the latest. If the latest snapshot expires before it is protected, a newer
        snapshot is used. ``Lease.renew`` extends the time, up to 7 days in all. The lease is a tag, which every expiry
        obeys. Raises SnapshotNotFound for a pinned snapshot that has expired and for a table without snapshots,
        InvalidRequest for a wrong duration or ``holder``, and for too many leases.
        """
        view = self.reading()
        return on_demand.lease_of(view.context, view.pinned, view._at, keep_for, holder)

    def health(self, thresholds: Thresholds | None = None) -> Health:
        """Return the problems of the table, with their costs and mends, from metadata only (docs/health.md).

        Raises SnapshotNotFound when the pinned or latest snapshot expires, CorruptTable for metadata that are damaged.
        """
        return on_demand.health(self, thresholds)

    def report(self) -> str:
        """Return what ``health`` finds as one HTML page with pictures; raises the errors of ``health``."""
        return on_demand.health_page(self)

    def leases(self) -> list[LeaseTag]:
        """Return the leases of the table, including leases of other processes and engines."""
        return on_demand.leases_of(self.context)

    def explain_row(self, key: Any) -> RowExplanation:
        """Return every version of one row in the files of the snapshot, and the versions that decided each column.

        ``key`` maps the columns of the primary key to values, or is the value of a key with one column. Each version
        has its file, level, row kind, sequence number and the snapshot and user that wrote it. Only files that may
        contain the key are opened. Raises InvalidRequest for a table without primary key and for a key that lacks a
        column or has a null, SchemaMismatch for a value of a wrong type, SnapshotNotFound when the snapshot expires.
        """
        return on_demand.explain_row(self, key)

    def with_options(self, options: Mapping[str, OptionValue]) -> Self:
        """Return this handle with ``options`` for its reads, writes and compactions; nothing is stored.

        >>> table.with_options({"scan.tag-name": "monday"}).scan().to_arrow()  # doctest: +SKIP

        Values are text, int, bool, or float where the option is a double; a size or duration needs its unit. Options
        ``scan.*`` replace the table's options ``scan.*`` and unpin the handle. Raises InvalidOption for an option that
        cannot change (see ``alter``), for an option that all handles must share (such as ``bucket``), for an option
        that this library does not use, and for a bad value.
        """
        context = on_demand.with_dynamic_options(self.context, options)
        return replace(self, context=context, pinned=None if on_demand.selects_snapshot(options) else self.pinned)

    @property
    def tags(self) -> Tags:
        """The tags: named snapshots, which do not expire. On a pinned view ``create`` tags the pinned snapshot."""
        return on_demand.tags_of(self.context, self.pinned)

    @property
    def inspect(self) -> Inspect:
        """Snapshots, files, manifests, partitions, buckets, options, schemas and tags as Arrow tables."""
        return on_demand.inspect_of(self.context, self.pinned)

    def system_table(self, name: str) -> SystemTable:
        """Return the system table ``name``, such as "files" or "audit_log" (docs/system-tables.md).

        System tables that describe one snapshot use the pinned snapshot, the snapshot that options ``scan.*`` select,
        or the latest. Under the options ``incremental-*``, "audit_log" and "binlog" have the changes of the selected
        range. Raises NotFound, which lists the names, and the errors of ``reading``.
        """
        kind = on_demand.check_name(name, self.name)
        table: TableView = self
        if on_demand.changes_asked(self.context, self.pinned, kind) is not None:
            refuse_other_branch(self.context)
        elif on_demand.is_of_snapshot(kind):
            table = self.reading()
        return on_demand.system_table(table.context, table.pinned, kind)

    def system(
        self,
        name: str,
        columns: Sequence[str] | None = None,
        where: Where | None = None,
        limit: int | None = None,
    ) -> SystemScan:
        """Return a read of the system table ``name``: ``table.system("files", where=col("level") == 0)``."""
        return self.system_table(name).scan(columns, where, limit)

    def branch(self, name: str) -> Self:
        """Return the table on branch ``name``, at its latest snapshot; raises BranchNotFound for an unknown branch."""
        return replace(self, context=same_table(self.context).on_branch(name), pinned=None)

    def refresh(self) -> Self:
        """Return the table at its latest schema and snapshot; raises TableNotFound if it was dropped or re-created."""
        return replace(self, context=refreshed(self.context), pinned=None)

"""TableView: the methods of a table handle that read, at the latest snapshot or pinned to one."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import pyarrow as pa

from paimon_core.errors import InvalidRequest
from paimon_core.metadata import time_travel
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.latest_snapshot import read_latest
from paimon_core.metadata.microseconds import in_microseconds
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.statistics import Statistics
from paimon_core.metadata.table_identity import check_same_table, refreshed, same_table, within_same_table
from paimon_core.options import OptionValue, TableOptions
from paimon_core.options.scan_position import scan_position
from paimon_core.predicate import Predicate
from paimon_core.schema import TableSchema
from paimon_core.table.argument_checks import epoch_millis, whole
from paimon_core.table.dynamic_options import selects_snapshot, with_dynamic_options
from paimon_core.table.inspect import Inspect
from paimon_core.table.query import Scan, changed_rows, new_scan


@dataclass(frozen=True)
class TableView:
    """One table to read; ``pinned`` is the snapshot that reads use, None for the latest one."""

    context: TableContext
    pinned: Snapshot | None = None

    @property
    def name(self) -> str:
        """``database.table``."""
        return self.context.name

    @property
    def schema(self) -> TableSchema:
        """The schema of the handle: that of the pinned snapshot, or the one the table was opened with."""
        return self.context.schema

    @property
    def arrow_schema(self) -> pa.Schema:
        """The columns as an Arrow schema.

        Its metadata contain the exact types, field ids, comments and defaults: a table that ``create_table`` makes from
        it has the same columns.
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

    def __repr__(self) -> str:
        return f"Table({self.name}{f' at snapshot {self.pinned.id}' if self.pinned else ''})"

    def latest_snapshot(self) -> Snapshot | None:
        """Return the pinned snapshot, or the latest; None for a table never written. Options ``scan.*`` do not count.

        Like every read, raises TableNotFound when the table was dropped or re-created.
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
        where: Predicate | None = None,
        limit: int | None = None,
        *,
        timestamps_in_micros: bool = False,
    ) -> Scan:
        """Describe a read, which runs later; raises SchemaMismatch for unknown columns or literals of a wrong type.

        The read uses the pinned snapshot, else the one that options ``scan.*`` select (see ``reading``), with the
        columns of that version, else the latest.

        A TIMESTAMP of 7 to 9 digits is returned in nanoseconds, which cover the years 1677 to 2262; for other years the
        read raises UnsupportedFeature. With ``timestamps_in_micros`` such columns, except for keys and sequence fields,
        are cut to microseconds, also for ``where``, and all years are read.
        """
        table = self.reading()
        context = in_microseconds(table.context) if timestamps_in_micros else table.context
        return new_scan(context, table._position(), columns, where, limit, pinned=table.pinned is not None)

    def reading(self) -> Self:
        """Return the table as its reads use it: pinned when options ``scan.*`` select a snapshot, else unchanged.

        Raises UnsupportedFeature when they select it in a way that is not supported, InvalidOption when they contradict
        each other, SnapshotNotFound, TagNotFound. A table that ``at`` has pinned is unchanged.
        """
        if self.pinned is not None:
            return self
        self.options.check_scannable(self.name)
        position = scan_position(self.options)
        if position is None:
            return self
        with within_same_table(self.context):
            found = time_travel.by_option(self.context, *position)
        return self._pinned(found)

    def statistics(self) -> Statistics | None:
        """Return the statistics that the snapshot has from the last ``analyze``; None when it has none."""
        if self.pinned is not None:
            return self._statistics(self.pinned)
        return read_latest(self.context.snapshots, self._statistics)

    def _statistics(self, snapshot: Snapshot | None) -> Statistics | None:
        check_same_table(self.context)
        name = None if snapshot is None else snapshot.statistics
        return None if name is None else Statistics.read(self.context.storage, self.context.paths.statistics(name))

    def changes(
        self,
        after: int | None = None,
        until: int | None = None,
        *,
        columns: Sequence[str] | None = None,
        where: Predicate | None = None,
    ) -> pa.RecordBatchReader:
        """Return the rows changed by the snapshots from ``after`` (exclusive) to ``until`` (inclusive).

        ``after`` None: from the first snapshot ever; ``until`` None: the pinned snapshot, or the latest. The first
        column is ``rowkind`` ("+I", "-U", "+U", "-D"), then follow ``columns``; ``where`` tests each row on its own.
        Rows are ordered by snapshot, then by partition and bucket, and those of a key as they changed. With a
        ``changelog-producer`` the rows come from its changelog files, otherwise they are the rows as written; an
        overwrite has no rows for what it replaced. Raises SnapshotNotFound naming the first of these snapshots that
        has expired (also during the read) or never existed, InvalidRequest, SchemaMismatch.
        """
        return changed_rows(self.context, self.pinned, after, until, columns, where)

    def at(
        self,
        *,
        snapshot: int | None = None,
        tag: str | None = None,
        time: datetime.datetime | int | None = None,
        watermark: int | None = None,
        version: str | int | None = None,
    ) -> Self:
        """Return this table pinned to one of its snapshots (format 15.4).

        ``snapshot`` is an id. ``time``, a datetime (naive: local time) or epoch milliseconds, selects the snapshot
        that was the latest then. ``watermark``, in epoch milliseconds, selects the first snapshot with a watermark at
        or after it. ``version`` is a tag's name, else "watermark-<millis>", else an id. Raises SnapshotNotFound,
        TagNotFound, and InvalidRequest unless exactly one argument is given.
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
        return self._pinned(found)

    def _pinned(self, found: Snapshot) -> Self:
        schema = self.context.schemas.read(found.schema_id)
        return replace(self, context=self.context.with_schema(schema), pinned=found)

    def with_options(self, options: Mapping[str, OptionValue]) -> Self:
        """Return this handle with other options, for reads, writes and compaction; nothing is stored.

        >>> table.with_options({"scan.tag-name": "monday"}).scan().to_arrow()  # doctest: +SKIP

        Values are text, int, bool, or float where the option is a double; a size or duration needs its unit. Options
        ``scan.*`` replace those of the table and unpin the handle. Raises InvalidOption for an option that cannot
        change (see ``alter``), for one that all handles must share (such as ``bucket``), for one that has no effect
        here, and for a bad value.
        """
        context = with_dynamic_options(self.context, options)
        return replace(self, context=context, pinned=None if selects_snapshot(options) else self.pinned)

    @property
    def inspect(self) -> Inspect:
        """Snapshots, files, manifests, partitions, buckets, options, schemas and tags as Arrow tables."""
        return Inspect(self.context, self.pinned)

    def branch(self, name: str) -> Self:
        """Return the table on branch ``name``, at the latest snapshot there; raises BranchNotFound."""
        return replace(self, context=same_table(self.context).on_branch(name), pinned=None)

    def refresh(self) -> Self:
        """Return the table at its latest schema and snapshot; raises TableNotFound if it was dropped or re-created."""
        return replace(self, context=refreshed(self.context), pinned=None)

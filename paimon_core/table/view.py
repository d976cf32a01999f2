"""TableView: the reading half of the user's handle on a table, at its latest snapshot or pinned to one."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import pyarrow as pa

from paimon_core.errors import InvalidRequest, TableNotFound
from paimon_core.metadata import time_travel
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.table_identity import check_same_table, same_table, within_same_table
from paimon_core.options import TableOptions
from paimon_core.predicate import Predicate
from paimon_core.schema import TableSchema
from paimon_core.table.argument_checks import epoch_millis, whole
from paimon_core.table.inspect import Inspect
from paimon_core.table.query import Scan, changed_rows, new_scan


@dataclass(frozen=True)
class TableView:
    """One table at one position, as readers see it; ``pinned`` is None at the latest snapshot."""

    context: TableContext
    pinned: Snapshot | None = None

    @property
    def name(self) -> str:
        """``database.table``."""
        return self.context.name

    @property
    def schema(self) -> TableSchema:
        """The schema at this position."""
        return self.context.schema

    @property
    def arrow_schema(self) -> pa.Schema:
        """The columns as an Arrow schema."""
        return self.context.schema.arrow

    @property
    def options(self) -> TableOptions:
        """The parsed options."""
        return self.context.options

    @property
    def location(self) -> str:
        """The root directory."""
        return self.context.paths.root

    def __repr__(self) -> str:
        return f"Table({self.name}{f' at snapshot {self.pinned.id}' if self.pinned else ''})"

    def latest_snapshot(self) -> Snapshot | None:
        """The snapshot that a read sees: the pinned one, or the latest; None for a table never written.

        Raises TableNotFound when the table was dropped or made anew, as every read does.
        """
        found = self._position()
        if self.pinned is None:
            check_same_table(self.context)
        return found

    def _position(self) -> Snapshot | None:
        return self.pinned or self.context.snapshots.latest()

    def scan(
        self, columns: Sequence[str] | None = None, where: Predicate | None = None, limit: int | None = None
    ) -> Scan:
        """Describe a read; raises SchemaMismatch for unknown columns or literals that do not fit."""
        return new_scan(self.context, self._position(), columns, where, limit, pinned=self.pinned is not None)

    def changes(
        self,
        after: int | None = None,
        until: int | None = None,
        *,
        columns: Sequence[str] | None = None,
        where: Predicate | None = None,
    ) -> pa.RecordBatchReader:
        """The rows changed after snapshot ``after`` (None: ever), up to and with ``until`` (None: this position's).

        A first column ``rowkind`` ("+I", "-U", "+U", "-D") comes before ``columns``; ``where`` tests each row alone.
        Snapshots come in commit order, in each the partitions and buckets, in those the rows of a key as they changed.
        With a ``changelog-producer`` these are its changelog files, otherwise the rows written, as they were written;
        an overwrite is not told row by row. Raises SnapshotNotFound naming the first snapshot of them that has expired
        (also while it is read) or was never made, InvalidRequest, SchemaMismatch.
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
        """This table pinned to one of its snapshots (format 15.4).

        By its id; by a tag; by a ``time`` at which it was the latest, a datetime (naive: local time) or epoch
        milliseconds; as the first with a ``watermark`` at or after this one, in epoch milliseconds; or by a
        ``version``: a tag's name, else "watermark-<millis>", else an id. Raises SnapshotNotFound, TagNotFound.
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
        return replace(self, context=context.with_schema(context.schemas.read(found.schema_id)), pinned=found)

    @property
    def inspect(self) -> Inspect:
        """Snapshots, files, manifests, partitions, buckets, options, schemas and tags as Arrow tables."""
        return Inspect(self.context, self.pinned)

    def branch(self, name: str) -> Self:
        """This table on another of its branches, at the latest snapshot there; raises BranchNotFound."""
        return replace(self, context=same_table(self.context).on_branch(name), pinned=None)

    def refresh(self) -> Self:
        """The same table at its latest schema and snapshot; raises TableNotFound when it was dropped or made anew."""
        context = self.context
        schema = context.schemas.latest()
        check_same_table(context)
        if schema is None:
            raise TableNotFound(f"table {self.name} is being dropped", table=self.name)
        return replace(self, context=context.reopened(schema), pinned=None)

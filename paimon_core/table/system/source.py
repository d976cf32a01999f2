"""Source: one table at one version, from which system tables read metadata; a filter leaves out files.

System tables of a snapshot (files, manifests, partitions, buckets, indexes, statistics) are read from the pinned
snapshot, or from the latest. The other system tables describe the current state of the table. Every read raises
TableNotFound when the table was dropped or re-created. When the latest snapshot expires during a read, a newer snapshot
is read.
"""

from __future__ import annotations

import calendar
import datetime
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import product
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from paimon_core.codec.binary_row.rows import encode_row, storage_values
from paimon_core.datafile.evolution.casts import find_cast
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.latest_snapshot import read_latest
from paimon_core.metadata.manifests.entries import ManifestFile
from paimon_core.metadata.manifests.entry_columns import EntryColumns, Indices
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.stores.live_manifests import LiveManifests
from paimon_core.metadata.table_identity import within_same_table
from paimon_core.predicate import BoundPredicate
from paimon_core.table.system.texts import cast_texts
from paimon_core.types import STRING, DataType, TypeRoot

T = TypeVar("T")
_EXACT = frozenset(
    {
        TypeRoot.VARCHAR,
        TypeRoot.BOOLEAN,
        TypeRoot.TINYINT,
        TypeRoot.SMALLINT,
        TypeRoot.INT,
        TypeRoot.BIGINT,
        TypeRoot.DATE,
    }
)
"""Types in which different values have different texts."""
_NUMBERS = ("bucket", "level")


@dataclass(frozen=True)
class Source:
    """One table at one version; files that ``where``, the filter on the system table, excludes are left out."""

    context: TableContext
    pinned: Snapshot | None = None
    where: BoundPredicate | None = None

    def of_snapshot(self, read: Callable[[Snapshot | None], T]) -> T:
        """Return the result of ``read`` for the pinned or latest snapshot, or for None in a table without snapshots."""
        with within_same_table(self.context):
            return read_latest(self.context.snapshots, read) if self.pinned is None else read(self.pinned)

    def each(self) -> Iterator[EntryColumns]:
        """Yield the live files as columns, one manifest after another; see ``live``."""
        yield from self.of_snapshot(self.live)

    def live(self, snapshot: Snapshot | None) -> Iterable[EntryColumns]:
        """Return the live files, except those in partitions, buckets and levels that ``where`` excludes.

        The files are columns, those of one manifest after another. All manifests are read before this method returns,
        so that a snapshot that expires meanwhile is no error.
        """
        if snapshot is None:
            return ()
        part = None if self.where is None else self.where.only(_NUMBERS)
        found = self._live(snapshot, part)
        return found if part is None else (columns.take(_matching(part, columns)) for columns in found)

    def _live(self, snapshot: Snapshot, part: BoundPredicate | None) -> LiveManifests:
        manifests, among = self.context.manifests, self._partitions()
        with manifests.reading(snapshot):
            opened = [
                m
                for m in manifests.manifests_of(snapshot)
                if (part is None or _may_hold(part, m)) and (among is None or manifests.may_hold(m, among))
            ]
            return LiveManifests(manifests, opened, among)

    def _partitions(self) -> Collection[bytes] | None:
        """Return the partitions to which ``where`` restricts the column ``partition``; None when this is not known."""
        texts = None if self.where is None else self.where.equality_values("partition")
        types = tuple(f.type for f in self.context.schema.partition_fields)
        if texts is None or not types or not all(t.root in _EXACT for t in types):
            return None
        found = [_parsed(text, types) for text in texts]
        return None if None in found else {row for rows in found for row in rows or ()}


_ZONE: ContextVar[datetime.tzinfo | None] = ContextVar("zone", default=None)


@contextmanager
def times_in(zone: datetime.tzinfo) -> Iterator[None]:
    """Show the times of system tables that are computed in the block in another time zone than that of the process."""
    token = _ZONE.set(zone)
    try:
        yield
    finally:
        _ZONE.reset(token)


def local_time(epoch_millis: int | None) -> int | None:
    """Return epoch milliseconds converted to local time without a zone, in milliseconds, as in Java's system tables.

    The time zone is that of the process, or of ``times_in``.
    """
    if epoch_millis is None:
        return None
    seconds, millis = divmod(epoch_millis, 1000)
    if (zone := _ZONE.get()) is not None:
        moment = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(seconds=seconds)
        return calendar.timegm(moment.astimezone(zone).timetuple()) * 1000 + millis
    return calendar.timegm(time.localtime(seconds)) * 1000 + millis


def _matching(where: BoundPredicate, columns: EntryColumns) -> Indices:
    """Return the positions of the entries that match a filter on bucket and level."""
    numbers = {name: pa.array(np.ascontiguousarray(columns.numbers[name]), pa.int32()) for name in _NUMBERS}
    rows = pa.table({**numbers, "at": np.arange(len(columns))}).filter(where.to_arrow())
    at: Indices = rows["at"].to_numpy()
    return at


def _may_hold(where: BoundPredicate, manifest: ManifestFile) -> bool:
    """Whether an entry of the manifest may match a filter on bucket and level.

    The ADD and the DELETE entry of a file have the same bucket and level. So if the filter selects the file, the
    manifests of both entries are read.
    """
    bounds = {
        "bucket": (manifest.min_bucket, manifest.max_bucket, 0),
        "level": (manifest.min_level, manifest.max_level, 0),
    }
    return where.may_match(bounds, manifest.num_added_files + manifest.num_deleted_files)


def _parsed(text: str, types: tuple[DataType, ...]) -> list[bytes] | None:
    """Return the serialized partitions with this text; None if they cannot be determined.

    There may be several such partitions, because "null" in the text can be a null or the word null.
    """
    if not (text.startswith("{") and text.endswith("}")):
        return []
    parts = text[1:-1].split(", ") if len(types) > 1 else [text[1:-1]]
    if len(parts) != len(types):
        return None
    values = [_values(part, kind) for part, kind in zip(parts, types, strict=True)]
    return [encode_row(row, types) for row in product(*values)]


def _values(text: str, kind: DataType) -> list[Any]:
    absent = [None] if text == "null" else []
    if kind.root is TypeRoot.VARCHAR:
        return [*absent, text]
    cast = find_cast(STRING, kind)
    assert cast is not None
    try:
        array = cast(pa.array([text]), STRING, kind)
    except pa.ArrowInvalid:
        return absent
    return [*absent, *(storage_values(array, kind) if cast_texts(array, kind)[0].as_py() == text else [])]

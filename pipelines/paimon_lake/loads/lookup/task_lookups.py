"""Task lookups: look up the columns of the rows of one task, reject rows, and let rows wait.

A row that waits is written to the table of waiting rows instead. In a table with a key, a newer row of the key removes
the row that waits, because the older row would otherwise replace the newer row later. For this, a task keeps the hashes
of the keys that wait since earlier loads, and of the keys of its own waiting rows, 4 bytes each. A key that does not
wait and has the hash of a waiting key is also removed, which changes nothing.

A row whose key waits already counts as waiting since the key began to wait. So a source that delivers all rows in each
load does not restart the wait. For this, a task keeps the keys that wait in mapped files.

A task that tries waiting rows again removes the rows that it writes or rejects from the table of waiting rows.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Self

import numpy as np
import pyarrow as pa

from paimon_core.codec.binary_row.bucket_hash import Hashes, hash_rows
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.table.view import TableView
from paimon_core.write.table_writer import TableWriter
from paimon_lake.loads.lookup.columns import Joined, Mask, joined, rows_of
from paimon_lake.loads.lookup.counts import LookupCounts
from paimon_lake.loads.lookup.dimension import open_dimension
from paimon_lake.loads.lookup.lookups import Lookups, WaitingRows
from paimon_lake.loads.lookup.segment import Rows, Segment
from paimon_lake.loads.shapes.row_shape import without_deleted
from paimon_lake.protocol import KIND
from paimon_lake.sources.files.columnar import row_text
from paimon_lake.sources.files.rejects import REJECTS, Parsed, cut

_CHANGE = "__change"
"""The column that says whether a row begins to wait (+I) or no longer waits (-D); it is not stored."""

_ANY_SIZE = 1 << 62
"""No bound: the files of the waiting keys are smaller than the table of waiting rows."""


class NoLookups(contextlib.AbstractContextManager["NoLookups"]):
    """The lookups of a task without lookups."""

    def __exit__(self, *_: object) -> None:
        return None

    def rows(self, found: Iterator[Parsed] | None) -> Iterator[Parsed]:
        """Return the rows unchanged."""
        assert found is not None
        return found

    def finish(self) -> tuple[list[CommitMessage], LookupCounts]:
        """Return no files, and counts of 0."""
        return [], LookupCounts()


class TaskLookups:
    """Looks up the columns of the rows of one task; at the end, this context deletes all files that ``finish`` did not
    return.
    """

    def __init__(self, lookups: Lookups, lane: int, kinds: str | None, *, overwrites: bool) -> None:
        self._lookups, self._lane, self._kinds = lookups, lane, kinds
        self._cached = [open_dimension(rule.dimension) for rule in lookups.rules]
        self._counts: list[LookupCounts] = []
        self._kept = 0
        self._hashes: Hashes = np.zeros(0, np.int32)
        """The hashes of the keys that wait, sorted."""
        self._earlier: Segment | None = None
        self._writer: TableWriter | None = None
        if lookups.waiting is not None:
            self._hashes = self._hashes if overwrites else waiting_hashes(lookups.waiting)
            self._earlier = _waiting_keys(lookups.waiting) if len(self._hashes) else None
            self._writer = TableWriter(lookups.waiting.reference.open(), lane=lane)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._writer is not None:
            self._writer.__exit__(kind, error, at)

    def rows(self, found: Iterator[Parsed] | None) -> Iterator[Parsed]:
        """Yield the rows with the looked-up columns, without the rows that wait; some rows become rejects.

        ``found`` None: try the rows that wait since earlier loads again, and yield those that no longer wait.
        """
        if found is not None:
            for parsed in found:
                yield self._new(parsed) if len(parsed.rows) else parsed
            return
        view = _waiting_view(self._lookups.waiting)
        for batch in view.scan().to_batches() if view is not None else ():
            if len(batch):
                yield self._again(batch)

    def finish(self) -> tuple[list[CommitMessage], LookupCounts]:
        """Return the files of waiting rows, not committed yet, and the numbers of rows."""
        return self._writer.flush() if self._writer is not None else [], LookupCounts.sum(self._counts)

    def _new(self, parsed: Parsed) -> Parsed:
        """Look up the columns of rows of the source."""
        rows = parsed.rows
        since = self._since(rows)
        found = joined(self._lookups, self._cached, rows, self._lookups.now_ms - since)
        rejected = found.rejected
        waits = found.waits & ~rejected
        replaces = ~waits if self._lookups.removes_rejected else ~waits & ~rejected
        self._wait(rows, waits, replaces, since, parsed.file)
        self._count(found, waits | rejected, waiting=int(waits.sum()), late_rejected=len(found.late))
        mine = self._parsed(found, rows, waits, [parsed.file] * len(found.reasons))
        return replace(
            parsed,
            rows=mine.rows,
            rejects=pa.concat_batches([parsed.rejects, mine.rejects]),
            read=parsed.read + mine.read,
            removals=parsed.removals + mine.removals,
        )

    def _again(self, batch: pa.RecordBatch) -> Parsed:
        """Look up the columns of rows that wait since earlier loads, which do not count as read."""
        since = np.asarray(batch["__since"].cast(pa.int64()))
        rows = self._as_read(batch)
        found = joined(self._lookups, self._cached, rows, self._lookups.now_ms - since)
        rejected = found.rejected
        stays = found.waits & ~rejected
        ends = int((~stays).sum())
        self._write(batch.filter(pa.array(~stays)), np.full(ends, "-D"))
        self._count(found, stays | rejected, retried=ends, late_rejected=int(rejected.sum()))
        files = batch["__file"].take(pa.array(sorted(found.reasons), pa.int64())).to_pylist()
        return self._parsed(found, rows, stays, files)

    def _parsed(self, found: Joined, rows: pa.RecordBatch, waits: Mask, files: Sequence[str]) -> Parsed:
        """Return the rows that do not wait, and rejects.

        A rejected row that must remove the older row with its key becomes a -D, which counts as read and as removal.
        """
        rejected, removals = found.rejected, 0
        if self._lookups.removes_rejected and KIND in found.columns:  # a first copy has no older rows
            removals = int(rejected.sum())
            kinds = np.where(rejected, "-D", found.columns[KIND].to_numpy(zero_copy_only=False))
            found.columns[KIND] = pa.array(kinds, pa.string())
            rejected = np.zeros_like(rejected)
        kept = rows_of(found, self._lookups.fields).filter(pa.array(~waits & ~rejected))
        kept = without_deleted(kept, self._lookups.emptied)
        return Parsed(kept, self._rejects(found, rows, files), removals, removals=removals)

    def _as_read(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return rows that wait as the source delivered them."""
        names = [one.name for one in self._lookups.fields if one.name not in self._lookups.targets]
        rows = batch.select([*names, *self._lookups.only_in_source])
        return rows if self._kinds is None else rows.append_column(KIND, batch["__kind"].fill_null("+I"))

    def _count(self, found: Joined, others: Mask, **numbers: int) -> None:
        nulls = {name: int((mask & ~others).sum()) for name, mask in found.without.items()}
        self._counts = [LookupCounts.sum([*self._counts, LookupCounts(**numbers, nulls=nulls)])]

    @staticmethod
    def _rejects(found: Joined, rows: pa.RecordBatch, files: Sequence[str]) -> pa.RecordBatch:
        numbers = sorted(found.reasons)
        columns = {
            "file": files,
            "line": [None] * len(numbers),
            "column": [found.reasons[row][0] for row in numbers],
            "reason": [found.reasons[row][1] for row in numbers],
            "raw": [cut(row_text(rows, row)) for row in numbers],
        }
        return pa.RecordBatch.from_pydict(columns, REJECTS)

    # -- the table of waiting rows

    def _since(self, rows: pa.RecordBatch) -> Rows:
        """Return the time since which the key of each row waits, in milliseconds since 1970; the current time, if the
        key does not wait.
        """
        waiting, since = self._lookups.waiting, np.full(len(rows), self._lookups.now_ms, np.int64)
        if waiting is None or self._earlier is None:
            return since
        keys = [rows[one.name].cast(one.type.to_arrow()) for one in waiting.key]
        found = self._earlier.find(keys, hash_rows(keys, self._earlier.key))
        since[found >= 0] = np.asarray(self._earlier.take("__since", found[found >= 0]).cast(pa.int64()))
        return since

    def _wait(self, rows: pa.RecordBatch, waits: Mask, replaces: Mask, since: Rows, file: str) -> None:
        """Write the rows that wait, and remove the waiting rows that the rows ``replaces`` replace."""
        waiting = self._lookups.waiting
        if waiting is None:
            return
        changes = waits
        if waiting.key:
            hashes = hash_rows([rows[one.name] for one in waiting.key], [one.type for one in waiting.key])
            if waits.any():
                self._hashes = np.union1d(self._hashes, hashes[waits])
            changes = waits | (replaces & _is_in(hashes, self._hashes))
        count = int(changes.sum())
        if not count:
            return
        kept = rows.filter(pa.array(changes))
        kinds = pa.nulls(count, pa.string())
        if KIND in kept.schema.names:
            kinds, kept = kept[KIND], kept.drop_columns([KIND])
        numbers = pa.array(np.arange(self._kept, self._kept + count))
        self._kept += count
        for name, values in (
            ("__kind", kinds),
            ("__file", pa.repeat(pa.scalar(file), count)),
            ("__load", pa.repeat(pa.scalar(self._lookups.load, pa.int64()), count)),
            ("__lane", pa.repeat(pa.scalar(self._lane, pa.int32()), count)),
            ("__row", numbers),
            ("__since", pa.array(since[changes]).cast(pa.timestamp("ms", "UTC"))),
        ):
            kept = kept.append_column(name, values)
        self._write(kept, np.where(waits[changes], "+I", "-D"))

    def _write(self, rows: pa.RecordBatch, changes: np.ndarray) -> None:
        assert self._writer is not None
        if len(rows):
            self._writer.write(rows.append_column(_CHANGE, pa.array(changes, pa.string())), _CHANGE)


def _waiting_view(waiting: WaitingRows | None) -> TableView | None:
    if waiting is None or waiting.snapshot is None:
        return None
    context = waiting.reference.open()  # with the columns of this load, which the schema of the snapshot may lack
    return TableView(context, context.snapshots.read(waiting.snapshot))


def waiting_hashes(waiting: WaitingRows) -> Hashes:
    """Return the hashes of the keys of the rows that wait, sorted; none for a table without a key."""
    view, found = _waiting_view(waiting), [np.zeros(0, np.int32)]
    if view is not None and waiting.key:
        types = [one.type for one in waiting.key]
        batches = view.scan([one.name for one in waiting.key]).to_batches()
        found += [hash_rows(batch.columns, types) for batch in batches]
    return np.unique(np.concatenate(found))


def _waiting_keys(waiting: WaitingRows) -> Segment | None:
    """Return the keys of the rows that wait, each with its time ``__since``; None for a table without a key."""
    view, columns = _waiting_view(waiting), [one.name for one in waiting.key]
    if view is None or not columns:
        return None
    fields = [pa.field(one.name, one.type.to_arrow()) for one in waiting.key]
    schema = pa.schema([*fields, pa.field("__since", pa.timestamp("ms", "UTC"))])
    batches = (batch.cast(schema) for batch in view.scan(schema.names).to_batches())
    return Segment.of(batches, schema, [one.type for one in waiting.key], _ANY_SIZE)


def _is_in(hashes: Hashes, known: Hashes) -> Mask:
    if not len(known):
        return np.zeros(len(hashes), bool)
    at = np.minimum(np.searchsorted(known, hashes), len(known) - 1)
    found: Mask = known[at] == hashes
    return found

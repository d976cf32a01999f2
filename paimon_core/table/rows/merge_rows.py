"""Merge rows: creates the commit messages that merge a source into a table, as ``Table.merge`` describes.

Memory: the source, one batch of rows per processor, new rows of ``BATCH_BYTES``, and 24 bytes for each row of the table
that changes. The result of a function of an update takes memory in addition, because its size is not known before the
call.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from paimon_core.arrow import gather
from paimon_core.arrow.byte_budget import BATCH_BYTES, Sizes, ranges, row_sizes
from paimon_core.datafile.reading.file_request import FileRequest
from paimon_core.errors import InvalidRequest
from paimon_core.metadata.abort import aborted_on_error
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.data_file import DataFile
from paimon_core.parallel_work import run_parallel
from paimon_core.plan.index_filter import IndexFilter
from paimon_core.plan.plan_scan import ScanPlan
from paimon_core.predicate import Predicate
from paimon_core.read.live_keys import live_keys
from paimon_core.read.request import ReadRequest
from paimon_core.read.split_reader import read_split
from paimon_core.table.rows.key_numbers import Numbers
from paimon_core.table.rows.merge_clauses import Clauses, Delete, Update, Values, as_functions, set_of
from paimon_core.table.rows.merge_source import Flags, MergeSource, selected
from paimon_core.table.rows.row_changes import (
    POSITION,
    ChangedBucket,
    assigned,
    changed_buckets,
    changed_now,
    literal_bytes,
    without,
)
from paimon_core.table_indexes.bucket_vectors import index_files_by_bucket
from paimon_core.write.table_writer import TableWriter

_PAIRS = 1 << 22
"""The largest number of pairs of a table row and a source row to hold at once, when the source has several rows with
one key.
"""


@dataclass(frozen=True)
class MergeChanges:
    """The rows that change, as arrays: position of a row, number of its source row (-1: none), number of its clause."""

    at: Numbers
    source: Numbers
    clause: Numbers

    @staticmethod
    def joined(parts: Sequence[MergeChanges]) -> MergeChanges:
        """Return one value with the changes of all parts."""
        none = np.zeros(0, np.int64)
        columns = [[p.at for p in parts], [p.source for p in parts], [p.clause for p in parts]]
        return MergeChanges(*(np.concatenate([none, *column]) for column in columns))

    def of(self, clause: int) -> MergeChanges:
        """Return the changes of one clause."""
        here = self.clause == clause
        return MergeChanges(self.at[here], self.source[here], self.clause[here])


@dataclass(frozen=True)
class Merge:
    """One merge into one snapshot; it records which keys of the source have matched, for the inserts at the end."""

    context: TableContext
    source: MergeSource
    clauses: Clauses

    @cached_property
    def _matched(self) -> Flags:
        return np.zeros(self.source.key_count, np.bool_)

    @cached_property
    def _source_flags(self) -> list[Flags]:
        return [self.source.selected(c.source_where) for c in self.clauses.matched]

    @cached_property
    def columns(self) -> frozenset[str]:
        """The columns of the table that decide which rows change."""
        conditions = [c.where.columns for c in self.clauses.changes if c.where is not None]
        return frozenset(self.source.on).union(*conditions)

    def prepare(self) -> None:
        """Compute the cached properties that several threads read, before the threads start."""
        fields = self.context.schema.select(sorted(self.columns))
        self.changes(pa.schema([f.arrow for f in fields]).empty_table())

    def changes(self, rows: pa.Table) -> MergeChanges:
        """Return which of ``rows`` change; raises InvalidRequest when several rows of the source change one row."""
        numbers = self.source.numbers(rows)
        self._matched[numbers[numbers >= 0]] = True
        flags = [selected(rows, c.where, self.context.schema.fields) for c in self.clauses.changes]
        step, known = max(1, _PAIRS // self.source.most_rows_of_a_key), np.flatnonzero(numbers >= 0)
        slices = (known[start : start + step] for start in range(0, len(known), step))
        parts = [self._matched_changes(rows, numbers, flags, some) for some in slices]
        if self.clauses.not_matched_by_source:
            parts.append(self._unmatched_changes(numbers, flags))
        return MergeChanges.joined(parts)

    def _matched_changes(self, rows: pa.Table, numbers: Numbers, flags: Sequence[Flags], some: Numbers) -> MergeChanges:
        """Return the changes of the rows at the positions ``some``, whose keys are keys of the source."""
        places, source = self.source.pairs(numbers[some])
        at = some[places]
        clause = np.full(len(at), -1, np.int64)
        for number in reversed(range(len(self.clauses.matched))):
            clause[flags[number][at] & self._source_flags[number][source]] = number
        applies = clause >= 0
        at, source, clause = at[applies], source[applies], clause[applies]
        again = np.flatnonzero(at[1:] == at[:-1]) + 1
        deletes = np.array([isinstance(c, Delete) for c in self.clauses.matched], np.bool_)
        for place in again[~(deletes[clause[again]] & deletes[clause[again - 1]])][:1]:
            raise InvalidRequest(
                f"table {self.context.name}: several rows of the source change the row with "
                f"{self.source.key_text(rows, int(at[place]))}: only one row may do so",
                table=self.context.name,
            )
        once = np.ones(len(at), np.bool_)
        once[again] = False
        return MergeChanges(at[once], source[once], clause[once])

    def _unmatched_changes(self, numbers: Numbers, flags: Sequence[Flags]) -> MergeChanges:
        first = len(self.clauses.matched)
        at = np.flatnonzero(numbers < 0)
        clause = np.full(len(at), -1, np.int64)
        for number in reversed(range(first, len(flags))):
            clause[flags[number][at]] = number
        at, clause = at[clause >= 0], clause[clause >= 0]
        return MergeChanges(at, np.full(len(at), -1, np.int64), clause)

    def updates(self) -> list[tuple[int, Values]]:
        """Return the number of each ``Update`` clause, with the values that it sets."""
        names = self.source.rows.column_names
        return [
            (number, set_of(clause, self.context, names, self.source.on))
            for number, clause in enumerate(self.clauses.changes)
            if isinstance(clause, Update)
        ]

    @cached_property
    def _source_sizes(self) -> Sizes:
        """The bytes of each row of the source."""
        return row_sizes(self.source.rows)

    def updated(self, rows: pa.Table, values: Values, source_rows: Numbers) -> Iterator[pa.Table]:
        """Yield ``rows`` of the table, in parts, with new values.

        ``source_rows`` has for each row the number of its source row, or -1 for every row.
        """
        if not len(source_rows):
            return
        matched = source_rows[0] >= 0
        sizes = row_sizes(rows) + self._literal_bytes(values)
        sizes += self._source_sizes[source_rows] if matched else 0
        for start, end in ranges(sizes, BATCH_BYTES):
            some = rows.slice(start, end - start)
            if not matched:
                yield assigned(some, as_functions(values, some))
                continue
            source = self.source.taken(source_rows[start:end])
            yield assigned(some, as_functions(values, some, source))

    def _literal_bytes(self, values: Values) -> int:
        schema = pa.schema([f.arrow for f in self.context.schema.fields])
        return literal_bytes(schema, {c: v for c, v in values.items() if not callable(v)})

    def inserts(self) -> list[Flags]:
        """Return for each clause ``not_matched`` which rows of the source it inserts; call it after ``changes``.

        Raises InvalidRequest when a table with a primary key would get several new rows with the same key.
        """
        number = self.source.key_of_row
        left = np.ones(len(number), np.bool_)
        left[number >= 0] = ~self._matched[number[number >= 0]]
        chosen = []
        for clause in self.clauses.not_matched:
            chosen.append(left & self.source.selected(clause.source_where))
            left &= ~chosen[-1]
        if chosen:
            self._check_new_keys(np.logical_or.reduce(chosen))
        return chosen

    def write_inserts(self, writer: TableWriter) -> None:
        """Write the rows of ``inserted``."""
        for rows in self.inserted():
            writer.write(rows)

    def inserted(self) -> Iterator[pa.Table]:
        """Yield the rows of the source that match no row of the table, in parts, as the clauses ``not_matched`` state.

        Raises what ``inserts`` raises; call it after ``changes``.
        """
        for clause, here in zip(self.clauses.not_matched, self.inserts(), strict=True):
            places = np.flatnonzero(here)
            whole = any(map(callable, (clause.values or {}).values()))  # a function gets all rows of the clause at once
            sizes = self._source_sizes[places] + self._literal_bytes(clause.values or {})
            for start, end in [(0, len(places))][: len(places)] if whole else ranges(sizes, BATCH_BYTES):
                rows = self.source.taken(places[start:end])
                yield self._inserted(rows, clause.values)

    def _check_new_keys(self, rows: Flags) -> None:
        """Raise InvalidRequest when a table with a primary key would get several new rows with the same key."""
        if not self.context.is_keyed or self.source.most_rows_of_a_key == 1:
            return
        at = np.flatnonzero(rows & (self.source.key_of_row >= 0))
        _, first = np.unique(self.source.key_of_row[at], return_index=True)
        for place in np.setdiff1d(np.arange(len(at)), first)[:1]:
            raise InvalidRequest(
                f"table {self.context.name}: several rows of the source insert the row with "
                f"{self.source.key_text(self.source.rows, int(at[place]))}: only one row may do so",
                table=self.context.name,
            )

    def _inserted(self, rows: pa.Table, values: Values | None) -> pa.Table:
        known = self.context.schema.by_name
        if values is None:
            return rows.select([name for name in rows.column_names if name in known])
        fields = [known[name].arrow for name in values]
        empty = pa.table([pa.nulls(len(rows), f.type) for f in fields], names=[f.name for f in fields])
        return assigned(empty, as_functions(values, rows))


# -- append tables -----------------------------------------------------------------------------------------------------


def merged_rows(merge: Merge, plan: ScanPlan, where: Predicate | None) -> list[CommitMessage]:
    """Return the messages of a merge into an append table; ``where`` selects the rows that may match.

    When the call fails, the files that it has written are deleted. Raises SnapshotNotFound when the snapshot expires
    during the call, CorruptTable for a damaged file.
    """
    if plan.snapshot is None:
        return _merged_rows(merge, [], where)
    context = merge.context
    with context.manifests.reading(plan.snapshot):
        indexes = index_files_by_bucket(context.manifests.read_indexes(plan.snapshot.index_manifest))
        return _merged_rows(merge, changed_buckets(context.tracked(), plan, indexes), where)


def _merged_rows(merge: Merge, buckets: Sequence[ChangedBucket], where: Predicate | None) -> list[CommitMessage]:
    context = merge.context
    merge.prepare()
    index = IndexFilter.of(where, context.schema, context.options, context.schemas.read)
    places = list(zip(buckets, run_parallel(lambda b: _found(merge, b, index), buckets), strict=True))
    messages: list[CommitMessage] = []
    updates = TableWriter(context.with_kept_ids())
    inserts = TableWriter(context) if context.tracks_rows else updates
    with updates, inserts:

        def delete(place: tuple[ChangedBucket, Mapping[str, MergeChanges]]) -> None:
            bucket, changed = place
            if changed:
                messages.append(without(context.tracked(), bucket, {name: c.at for name, c in changed.items()}))

        with aborted_on_error(messages, context):
            for bucket, changed in places:
                _write_updated(merge, bucket, changed, updates)
            merge.write_inserts(inserts)
            run_parallel(delete, places)
            messages += updates.flush()
            messages += inserts.flush() if inserts is not updates else []
    return messages


def _found(merge: Merge, bucket: ChangedBucket, index: IndexFilter | None) -> dict[str, MergeChanges]:
    """Return the changes by file name, for files with changes; ``at`` has the positions of the rows in the file."""
    fields = merge.context.schema.select(sorted(merge.columns))
    found = {}
    for file in bucket.files:
        some = None if index is None else index.rows(file, merge.context.storage, bucket.reader.path_of)
        if some is not None and not some.any():
            continue
        parts = []
        request = FileRequest(rows=some, position=POSITION)
        for rows in gather(bucket.reader.file(file, fields, request), BATCH_BYTES):
            changes = merge.changes(rows)
            positions = rows[POSITION].to_numpy()[changes.at]
            parts.append(MergeChanges(positions, changes.source, changes.clause))
        changes = MergeChanges.joined(parts)
        if len(changes.at):
            order = np.argsort(changes.at, kind="stable")
            found[file.file_name] = MergeChanges(changes.at[order], changes.source[order], changes.clause[order])
    return found


def _write_updated(
    merge: Merge, bucket: ChangedBucket, changed: Mapping[str, MergeChanges], writer: TableWriter
) -> None:
    for file in bucket.files:
        for number, values in merge.updates():
            if file.file_name not in changed:
                continue
            changes, start = changed[file.file_name].of(number), 0
            if not len(changes.at):
                continue
            for rows in _old_rows(merge, bucket, file, values, changes.at):
                for new in merge.updated(rows, values, changes.source[start : start + len(rows)]):
                    writer.write(changed_now(new) if merge.context.tracks_rows else new)
                start += len(rows)


def _old_rows(
    merge: Merge, bucket: ChangedBucket, file: DataFile, values: Values, positions: Numbers
) -> Iterator[pa.Table]:
    """Yield the rows at ``positions`` of a file, in order; columns whose old values are not needed are null."""
    schema = merge.context.tracked().schema
    computed = any(callable(value) for value in values.values())
    fields = [f for f in schema.fields if computed or f.name not in values]
    if not fields:
        for start in range(0, len(positions), _PAIRS):
            count = min(_PAIRS, len(positions) - start)
            yield pa.table([pa.nulls(count, f.arrow.type) for f in schema.fields], names=schema.names)
        return
    wanted = np.zeros(file.row_count, np.bool_)
    wanted[positions] = True
    held = {f.name for f in fields}
    for rows in gather(bucket.reader.file(file, fields, FileRequest(rows=wanted)), BATCH_BYTES):
        columns = [rows[f.name] if f.name in held else pa.nulls(len(rows), f.arrow.type) for f in schema.fields]
        yield pa.table(columns, names=schema.names)


# -- tables with a primary key -----------------------------------------------------------------------------------------


def merged_by_key(merge: Merge, plan: ScanPlan, where: Predicate | None) -> list[CommitMessage]:
    """Return the messages of a merge into a table with a primary key: new rows, and rows of kind -D."""
    context = merge.context
    with TableWriter(context, live_keys=live_keys) as writer:
        for split in plan.splits:
            for rows in read_split(context, split, ReadRequest(context.schema.names, where)):
                changes = merge.changes(rows)
                for number, clause in enumerate(merge.clauses.changes):
                    if isinstance(clause, Delete) and len(at := changes.of(number).at):
                        writer.delete(rows.take(pa.array(at)))
                for number, values in merge.updates():
                    of = changes.of(number)
                    if len(of.at):
                        for new in merge.updated(rows.take(pa.array(of.at)), values, of.source):
                            writer.write(new)
        merge.write_inserts(writer)
        return writer.flush()

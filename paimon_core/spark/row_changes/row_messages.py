"""Row messages: turn a DataFrame of changes into commit messages, in Spark tasks.

A change has a kind: "+I" (a new row), "+U" (a new version of a row) or "-D". With a primary key the changes are written
as rows by key. In an append table the new rows are written by the tasks that compute them. The positions of the old
rows go to tasks of a second stage. A unit is a group of files that are changed together, such as the files of a bucket:
one task marks all old rows of a unit in deletion vectors, or rewrites its files. Memory of such a task: 8 bytes for
each changed row of its units, and one batch of rows.

Spark may run a task of the first stage again, even after its output was used in part. All messages about the new files
of a task go to the same task of the second stage, so that the messages of exactly one run are returned. Files of other
runs are orphans. When tasks of the second stage have ended already, Spark gives up the job, because the repeated task
has written files with other names; then the job starts again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from paimon_core.arrow import gather
from paimon_core.errors import InvalidRequest
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.context import TableContext
from paimon_core.plan.plan_scan import ScanPlan
from paimon_core.read.bucket_reader import BucketReader
from paimon_core.schema import SEQUENCE_NUMBER
from paimon_core.spark.columns import column
from paimon_core.spark.reference import TableReference
from paimon_core.spark.row_changes.split_tasks import parts_of, payload_of, splits_of
from paimon_core.spark.row_changes.target_rows import FILE, POS
from paimon_core.spark.task_errors import errors_of_tasks, repeated_when_unlike
from paimon_core.spark.tasks import map_batches, spark_context
from paimon_core.spark.writes.writer import write_messages
from paimon_core.table.rows.row_changes import ChangedBucket, changed_now, without
from paimon_core.table.table import Table
from paimon_core.table_indexes.bucket_vectors import index_files_by_bucket, vectors_in
from paimon_core.write.table_writer import TableWriter

KIND = "__paimon_kind"
INSERT, UPDATE, DELETE = "+I", "+U", "-D"
_ROUTE, _UNIT, _DATA = "__paimon_route", "__paimon_unit", "__paimon_data"
_OUTPUT = f"{_ROUTE} int, {_UNIT} int, {FILE} int, {_DATA} binary"
_ATTEMPTS = 3
"""How often the job of an append table runs at most, when Spark gives it up because of lost rows of a shuffle."""
_MESSAGE = -1
"""The unit of a row that carries a commit message; other rows carry positions of a file as int64."""


def row_messages(changes: DataFrame, table: Table, context: TableContext, plan: ScanPlan) -> list[CommitMessage]:
    """Return the messages of the changes, which were computed from the rows of ``plan``.

    ``changes`` has the column KIND and the columns of the table. In an append table it also has FILE and POS, and with
    row tracking the ids and sequence numbers of the old rows. Raises the errors of the writers.
    """
    with errors_of_tasks(context.name):
        return _by_key(changes, table, context) if context.is_keyed else _by_position(changes, context, plan)


def _by_key(changes: DataFrame, table: Table, context: TableContext) -> list[CommitMessage]:
    names, field = context.schema.names, context.options["rowkind.field"]
    rows = changes.select(KIND, *[column(name) for name in names])
    if field is not None:  # the writer takes the kinds from this column
        kind = F.when(F.col(KIND) == DELETE, F.lit(DELETE)).otherwise(column(field))
        rows = rows.withColumn(field, kind).drop(KIND)
    kinds = KIND if field is None else None
    return write_messages(rows, replace(table, context=context), kinds=kinds, tasks=_tasks(changes, context))


def _tasks(changes: DataFrame, context: TableContext) -> int:
    """Return the number of tasks that write: the cores, but not more than the buckets of a table without partitions."""
    cores = _cores(changes)
    buckets = int(context.options["bucket"])
    return min(cores, buckets) if buckets > 0 and not context.schema.partition_keys else cores


def _cores(changes: DataFrame) -> int:
    found = spark_context(changes.sparkSession)
    return (
        found.defaultParallelism if found else int(changes.sparkSession.conf.get("spark.sql.shuffle.partitions") or 1)
    )


# -- append tables -----------------------------------------------------------------------------------------------------


def _by_position(changes: DataFrame, context: TableContext, plan: ScanPlan) -> list[CommitMessage]:
    remover = _Remover.of(context, plan)
    tasks = max(1, min(_cores(changes), len(remover.units)))

    def job() -> list[Row]:
        written = map_batches(changes, _Writer(TableReference.of(context), remover.unit_of_file), _OUTPUT)
        routed = written.withColumn(_ROUTE, F.pmod(F.col(_ROUTE), F.lit(tasks))).repartitionById(tasks, _ROUTE)
        found: list[Row] = routed.mapInArrow(remover, "place long, message binary").collect()
        return found

    answers = repeated_when_unlike(job, _ATTEMPTS)
    return [CommitMessage.from_bytes(bytes(a["message"])) for a in sorted(answers, key=lambda a: a["place"])]


@dataclass(frozen=True)
class _Writer:
    """Writes the new rows of one task; yields their messages and the positions of the old rows."""

    reference: TableReference
    unit_of_file: np.ndarray

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = self.reference.open()
        task = TaskContext.get()
        lane = 0 if task is None else task.partitionId()
        removed: dict[int, list[np.ndarray]] = {}
        updates = TableWriter(context.with_kept_ids(), lane=lane)
        inserts = TableWriter(context, lane=lane) if context.tracks_rows else updates
        with updates, inserts:
            for rows in gather(batches):
                self._write(rows, context, updates, inserts)
                _collect(rows, removed)
            messages = updates.flush() + (inserts.flush() if inserts is not updates else [])
        yield _output([(lane, _MESSAGE, lane, m.to_bytes()) for m in messages])
        for file, parts in removed.items():
            unit = int(self.unit_of_file[file])
            yield _output([(unit, unit, file, np.concatenate(parts).tobytes())])

    def _write(self, rows: pa.Table, context: TableContext, updates: TableWriter, inserts: TableWriter) -> None:
        kinds = rows[KIND]
        updated = rows.filter(pc.equal(kinds, UPDATE))
        if len(updated):
            new = updated.select(context.tracked().schema.names)
            if context.tracks_rows:
                at = new.schema.get_field_index(SEQUENCE_NUMBER)
                new = changed_now(new.set_column(at, SEQUENCE_NUMBER, new[SEQUENCE_NUMBER].cast(pa.int64())))
            updates.write(new)
        inserted = rows.filter(pc.equal(kinds, INSERT))
        if len(inserted):
            inserts.write(inserted.select(context.schema.names))


def _collect(rows: pa.Table, removed: dict[int, list[np.ndarray]]) -> None:
    """Add the positions of the old rows, by file number."""
    old = rows.filter(pc.not_equal(rows[KIND], INSERT))
    files, positions = old[FILE].to_numpy(), old[POS].to_numpy()
    order = np.argsort(files, kind="stable")
    numbers, starts = np.unique(files[order], return_index=True)
    for number, part in zip(numbers.tolist(), np.split(positions[order], starts[1:]), strict=len(numbers) > 0):
        removed.setdefault(number, []).append(part.astype(np.int64))


def _output(rows: Sequence[tuple[int, int, int, bytes]]) -> pa.RecordBatch:
    columns = list(zip(*rows, strict=True)) or [(), (), (), ()]
    kinds = (pa.int32(), pa.int32(), pa.int32(), pa.binary())
    arrays = [pa.array(c, kind) for c, kind in zip(columns, kinds, strict=True)]
    return pa.record_batch(arrays, [_ROUTE, _UNIT, FILE, _DATA])


@dataclass(frozen=True)
class _Remover:
    """Removes the old rows of the units of one task; returns the messages of new files unchanged."""

    reference: TableReference
    plan: ScanPlan
    units: tuple[bytes, ...]
    """The splits of each unit; a unit is changed by one task."""
    first_files: tuple[tuple[int, ...], ...]
    """The number of the first file of each split of each unit."""
    unit_of_file: np.ndarray

    @staticmethod
    def of(context: TableContext, plan: ScanPlan) -> _Remover:
        """Return the remover for the files of a plan, which are numbered in its order."""
        parts = parts_of(context, plan)
        counts = [len(split.files) for split in plan.splits]
        starts = dict(zip(map(id, plan.splits), np.cumsum([0, *counts])[:-1].tolist(), strict=True))
        unit_of_file = np.zeros(sum(counts), np.int32)
        for unit, part in enumerate(parts):
            for split in part:
                unit_of_file[starts[id(split)] : starts[id(split)] + len(split.files)] = unit
        first = tuple(tuple(starts[id(split)] for split in part) for part in parts)
        units = tuple(map(payload_of, parts))
        return _Remover(TableReference.of(context), replace(plan, splits=()), units, first, unit_of_file)

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        removed: dict[int, dict[int, list[np.ndarray]]] = {}
        for batch in batches:
            for unit, file, data in zip(*(batch[n].to_pylist() for n in (_UNIT, FILE, _DATA)), strict=True):
                if unit == _MESSAGE:
                    yield _answer(len(self.units) + file, data)
                else:
                    removed.setdefault(unit, {}).setdefault(file, []).append(np.frombuffer(data, np.int64))
        for unit, files in removed.items():
            positions = {file: np.sort(np.concatenate(parts)) for file, parts in files.items()}
            if any((np.diff(found) == 0).any() for found in positions.values()):
                name = self.reference.open().name
                raise InvalidRequest(f"table {name}: the expressions give several new rows for one row", table=name)
            yield _answer(unit, self._without(unit, positions).to_bytes())

    def _without(self, unit: int, positions: Mapping[int, np.ndarray]) -> CommitMessage:
        context, splits = self.reference.open().tracked(), splits_of(self.units[unit])
        place = splits[0].partition, splits[0].bucket
        snapshot = self.plan.snapshot
        assert snapshot is not None
        with context.manifests.reading(snapshot):
            indexes = index_files_by_bucket(context.manifests.read_indexes(snapshot.index_manifest)).get(place, ())
        numbered = [
            (number, file)
            for split, first in zip(splits, self.first_files[unit], strict=True)
            for number, file in enumerate(split.files, first)
        ]
        files = tuple(file for _, file in numbered)
        reader = BucketReader(context, *place, threads=False, vectors=vectors_in(indexes))
        bucket = ChangedBucket(*place, splits[0].total_buckets, files, indexes, reader)
        return without(context, bucket, {f.file_name: positions[n] for n, f in numbered if n in positions})


def _answer(place: int, message: bytes) -> pa.RecordBatch:
    return pa.record_batch([pa.array([place], pa.int64()), pa.array([message], pa.binary())], ["place", "message"])

"""Sampled keys: from how many keys the runs of a bucket were chosen, found by reading the first keys of each run.

Runs are sorted by key, so of each run the first keys are read, and those up to the smallest of the last keys are known
in all runs. If these runs overlap more or less at their first keys than elsewhere, the estimate is wrong by as much.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.compact.task import CompactionTask
from paimon_core.health.plan.distinct_keys import domain_of, ranges_tell
from paimon_core.lsm.compaction.universal import CompactionUnit
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.data_file import DataFile
from paimon_core.read.bucket_reader import BucketReader

KEYS = 20_000
"""The most keys that are read of a run."""
RUNS = 16
"""The most runs of a bucket of which keys are read: those with the most rows."""


def sampled_domain(context: TableContext, task: CompactionTask) -> float | None:
    """Return the estimated ``key_domain`` (``Outcome``) of a compaction of one bucket; only keys are read.

    None if nothing is read because the key ranges of the files tell it, or if nothing can be said. Raises the errors of
    a scan.
    """
    unit, fields = task.unit, context.schema.key_fields
    if not isinstance(unit, CompactionUnit) or unit.each_alone:
        return None
    if not context.schema.partition_keys and ranges_tell(unit.files, fields):
        return None
    runs = sorted(_runs(unit.files), key=lambda run: -sum(f.row_count for f in run))[:RUNS]
    if len(runs) < 2:
        return None
    reader = BucketReader(context, task.partition, task.bucket, batch_rows=KEYS)
    found = [_first_keys(reader, run) for run in runs]
    last = [keys.slice(len(keys) - 1) for keys, is_whole in found if not is_whole and len(keys)]
    least = _least(pa.concat_tables(last)) if last else None
    parts = [keys if least is None else keys.filter(_up_to(keys, least)) for keys, _ in found]
    known = pa.concat_tables(parts)
    distinct = len(known.group_by(known.column_names).aggregate([]))
    domain = domain_of([len(part) for part in parts if len(part)], distinct)
    if domain is None or not len(known):
        return None
    return domain * sum(f.row_count for run in runs for f in run) / len(known)


def _runs(files: Sequence[DataFile]) -> list[list[DataFile]]:
    """Return the sorted runs: each file of level 0, and the files of each higher level in the order of their keys."""
    levels = sorted({f.level for f in files if f.level > 0})
    return [[f] for f in files if f.level == 0] + [[f for f in files if f.level == level] for level in levels]


def _first_keys(reader: BucketReader, run: Sequence[DataFile]) -> tuple[pa.Table, bool]:
    """Return the first keys of a run, and whether they are all of its keys."""
    fields = reader.context.schema.file_key_fields
    batches: list[pa.RecordBatch] = []
    rows = 0
    for file in run:
        with closing(reader.file(file, fields)) as some:  # type: ignore[type-var]
            for batch in some:
                batches.append(batch.select([f.name for f in fields]))
                rows += len(batch)
                if rows >= KEYS:
                    break
        if rows >= KEYS:
            break
    keys = pa.Table.from_batches(batches, pa.schema([f.arrow for f in fields]))
    return keys.slice(0, KEYS), len(keys) <= KEYS and rows >= sum(f.row_count for f in run)


def _least(keys: pa.Table) -> tuple[pa.Scalar, ...]:
    """Return the smallest key; its values stay Arrow's, because Python has no value for some times."""
    at = pc.sort_indices(keys, sort_keys=[(name, "ascending") for name in keys.column_names])[0].as_py()
    return tuple(column[at] for column in keys.columns)


def _up_to(keys: pa.Table, last: tuple[pa.Scalar, ...]) -> pa.ChunkedArray:
    """Return which keys are at most ``last``, compared column by column."""
    below, equal = pa.scalar(value=False), pa.scalar(value=True)
    for column, bound in zip(keys.columns, last, strict=True):
        below = pc.or_(below, pc.and_(equal, pc.less(column, bound)))
        equal = pc.and_(equal, pc.equal(column, bound))
    return pc.or_(below, equal)

"""Placement: writes the staged rows of a job to their buckets, in tasks.

Staged rows are in files that the job wrote before it could decide the buckets (``paimon_core.write.staging``). The
driver decides the bucket of each key, and the number of buckets of each new partition. The tasks only use these
decisions, so Spark may repeat a task. With cross-partition upsert a single task places all rows, because a key may be
in any partition.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from paimon_core.metadata.abort import abort
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.data_file import DataFile
from paimon_core.read.live_keys import live_keys
from paimon_core.spark.reference import TableReference
from paimon_core.spark.writes.key_assignment import KeyAssignment, assignment_of
from paimon_core.write.postpone import bucket_counts, spread
from paimon_core.write.staging import Staged, rows_wait, waiting_in_order
from paimon_core.write.table_writer import TableWriter

Run = Callable[[Sequence[bytes], Callable[[bytes], bytes]], list[bytes]]
"""Calls a function for each payload, in tasks or in this process, and returns the answers in the order of the
payloads."""
GROUP_BYTES = 64 << 20
"""About the bytes of staged files for each task, unless this gives more than ``MOST_GROUPS`` tasks."""
MOST_GROUPS = 16
"""The largest number of tasks that place rows: each task adds a sorted run to the buckets."""


def in_this_process(payloads: Sequence[bytes], work: Callable[[bytes], bytes]) -> list[bytes]:
    """Call ``work`` for the payloads, one after the other."""
    return [work(payload) for payload in payloads]


def place(context: TableContext, staged: Sequence[Staged], run: Run, *, overwrites: bool) -> list[CommitMessage]:
    """Write staged rows to their buckets, and return the messages to commit.

    Rows of a later item of ``staged`` count as newer. The staged files are deleted, even after an error, unless the
    rows stay in the postpone bucket until a compaction. Raises the errors of ``BucketAssigner.assign`` and of
    ``TableWriter``. The commit of the messages conflicts when a concurrent commit has added keys to dynamic buckets, or
    has given a new partition another number of buckets.
    """
    messages = [message for one in staged for message in one.messages]
    if rows_wait(context):
        return waiting_in_order(messages)
    try:
        return _placed(context, staged, run, overwrites)
    finally:
        abort(messages, context)


def _placed(context: TableContext, staged: Sequence[Staged], run: Run, overwrites: bool) -> list[CommitMessage]:
    groups = _groups(staged, 1 if context.is_cross_partition else MOST_GROUPS)
    if not groups:
        return []
    keys, counts = None, dict[bytes, int]()
    if context.is_postponed:
        counts = bucket_counts(context, _files([m for group in groups for m in group]), limited=True)
    elif not context.is_cross_partition:
        keys = assignment_of(context, _joined_hashes(staged), overwrites=overwrites)
    reference = TableReference.of(context)
    parts = [Staged(tuple(group)).to_bytes() for group in groups]

    def work(payload: bytes) -> bytes:
        lane = int.from_bytes(payload, "big")
        files = _files(Staged.from_bytes(parts[lane]).messages)
        return Staged(tuple(_spread(reference.open(), files, counts, keys, lane, overwrites))).to_bytes()

    try:
        answers = run([lane.to_bytes(4, "big") for lane in range(len(parts))], work)
    except BaseException:
        if keys is not None:
            keys.discard(context)
        raise
    found = [message for answer in answers for message in Staged.from_bytes(answer).messages]
    return [*found, *(() if keys is None else keys.messages)]


def _spread(
    context: TableContext,
    files: Mapping[bytes, Sequence[DataFile]],
    counts: Mapping[bytes, int],
    keys: KeyAssignment | None,
    lane: int,
    overwrites: bool,
) -> list[CommitMessage]:
    """Write the rows of staged files to their buckets; ``counts``: the number of fixed buckets of each partition."""
    writer = partial(
        TableWriter,
        ignore_existing=overwrites,
        lane=lane,
        assigner=None if keys is None else keys.assigner(context),
        live_keys=live_keys,
    )
    counts = counts or dict.fromkeys(files, context.options["bucket"])
    return spread(context, files, counts, writer)


def _groups(staged: Sequence[Staged], most: int) -> list[list[CommitMessage]]:
    """Divide the messages, in their order, into at most ``most`` groups of about equal bytes."""
    sizes = [sum(f.file_size for m in one.messages for f in m.new_files) for one in staged]
    target = max(GROUP_BYTES, -(-sum(sizes) // most))
    groups: dict[int, list[CommitMessage]] = {}
    before = 0
    for one, size in zip(staged, sizes, strict=True):
        if one.messages:
            groups.setdefault(min(most - 1, before // target), []).extend(one.messages)
        before += size
    return list(groups.values())


def _files(messages: Sequence[CommitMessage]) -> dict[bytes, list[DataFile]]:
    files: dict[bytes, list[DataFile]] = {}
    for message in messages:
        files.setdefault(message.partition, []).extend(message.new_files)
    return files


def _joined_hashes(staged: Sequence[Staged]) -> dict[bytes, np.ndarray]:
    found: dict[bytes, list[np.ndarray]] = {}
    for one in staged:
        for partition, hashes in one.hashes.items():
            found.setdefault(partition, []).append(hashes)
    return {partition: np.unique(np.concatenate(parts)) for partition, parts in found.items()}

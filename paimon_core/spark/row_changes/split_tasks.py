"""Split tasks: run a change of rows for parts of its plan in Spark tasks, with the functions of ``table.rows``.

A part is one split, with two exceptions: all splits, for a table with cross-partition upsert, and all splits of one
(partition, bucket), for an append table with buckets or deletion vectors. The tasks return commit messages only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pyspark.sql import SparkSession

from paimon_core.metadata.buckets import by_bucket
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.versioned_json import pack, unpacked
from paimon_core.plan.plan_scan import ScanPlan
from paimon_core.plan.split import Split
from paimon_core.predicate import Predicate
from paimon_core.spark.message_tasks import collect_messages
from paimon_core.spark.task_errors import errors_of_tasks
from paimon_core.table.rows.delete_update import Change, Run

_VERSION = 1


def in_tasks(spark: SparkSession) -> Run:
    """Return an argument ``run`` of ``delete`` and ``update`` that calls the change in Spark tasks."""

    def run(change: Change, context: TableContext, plan: ScanPlan, where: Predicate) -> list[CommitMessage]:
        bare = replace(plan, splits=())

        def work(there: TableContext, payload: bytes) -> list[CommitMessage]:
            return change(there, replace(bare, splits=splits_of(payload)), where)

        parts = parts_of(context, plan)
        sizes = [sum(split.size_bytes for split in part) for part in parts]
        with errors_of_tasks(context.name):
            messages = collect_messages(spark, context, [payload_of(part) for part in parts], work, sizes)
        return _of_one_assigner(messages)

    return run


def _of_one_assigner(messages: Sequence[CommitMessage]) -> list[CommitMessage]:
    """Return the messages with one name of an assigner, for a table with dynamic buckets.

    Changed rows keep their keys, so the tasks have assigned no keys to buckets, and cannot contradict each other. A
    message with new keys keeps its own name, so that the commit refuses this message together with others.
    """
    names = [m.assignment.assigner for m in messages if m.assignment is not None]
    return [
        m if m.assignment is None or m.new_indexes else replace(m, assignment=replace(m.assignment, assigner=names[0]))
        for m in messages
    ]


def parts_of(context: TableContext, plan: ScanPlan) -> list[tuple[Split, ...]]:
    """Return the splits of a plan in groups; the groups can be changed independently of each other."""
    if context.is_cross_partition:
        return [tuple(plan.splits)] if plan.splits else []
    indexed = context.options["deletion-vectors.enabled"] or any(split.vectors for split in plan.splits)
    if not context.is_keyed and (context.has_buckets or indexed):
        return [tuple(splits) for _, splits in sorted(by_bucket(plan.splits).items())]
    return [(split,) for split in plan.splits]


def payload_of(splits: Sequence[Split]) -> bytes:
    """Return the splits as bytes, for the payload of a task."""
    return pack(_VERSION, {"splits": [split.to_bytes().decode() for split in splits]})


def splits_of(payload: bytes) -> tuple[Split, ...]:
    """Return the splits from which ``payload_of`` made the payload."""
    with unpacked(payload, "splits", _VERSION) as value:
        return tuple(Split.from_bytes(text.encode()) for text in value["splits"])

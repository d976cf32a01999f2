"""Run one compaction of one bucket: read sections, merge, write, hand back a message (format 8.5).

A task is a plain value made on the driver and run anywhere; nothing is visible until its message is committed. Memory
is that of the section reader and one row group of the writer, whatever the size of the bucket.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from paimon_core.compact.append import AppendUnit, pick_append, rewrite_append
from paimon_core.errors import UnsupportedFeature
from paimon_core.lsm.compaction import CompactionUnit, UniversalCompaction, full_unit
from paimon_core.lsm.levels import Levels
from paimon_core.lsm.rewrite import Rewrite, Upgrade, plan_rewrite
from paimon_core.metadata.commit_message import CommitMessage
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.data_file import DataFile, FileSource
from paimon_core.metadata.manifest import ManifestEntry
from paimon_core.read.section_reader import read_section
from paimon_core.schema import KEY_PREFIX
from paimon_core.write.bucket_writer import rolling_writer


@dataclass(frozen=True, slots=True)
class CompactionTask:
    """What one bucket should rewrite: picked by ``pick_tasks``, done by ``run_task``."""

    partition: bytes
    bucket: int
    total_buckets: int
    unit: CompactionUnit | AppendUnit

    @property
    def input_bytes(self) -> int:
        """The size of the files that go in."""
        return sum(f.file_size for f in self.unit.files)


def pick_tasks(context: TableContext, entries: Sequence[ManifestEntry], *, full: bool) -> list[CompactionTask]:
    """The compactions that the live ``entries`` call for, largest first; ``full``: every bucket into one run."""
    context.options.check_writable(context.name)
    buckets: dict[tuple[bytes, int], list[ManifestEntry]] = {}
    for entry in entries:
        if entry.file.external_path or entry.file.embedded_index or entry.file.extra_files:
            raise UnsupportedFeature(
                f"table {context.name}: file {entry.file.file_name} has an external path or a file index, "
                "which compaction does not carry over",
                table=context.name,
            )
        buckets.setdefault((entry.partition, entry.bucket), []).append(entry)
    tasks = []
    for (partition, bucket), of_bucket in buckets.items():
        unit = _pick(context, [e.file for e in of_bucket], full)
        if unit is not None:
            tasks.append(CompactionTask(partition, bucket, of_bucket[0].total_buckets, unit))
    return sorted(tasks, key=lambda t: (-t.input_bytes, t.partition, t.bucket))


def _pick(context: TableContext, files: list[DataFile], full: bool) -> CompactionUnit | AppendUnit | None:
    options = context.options
    if not context.is_keyed:
        return pick_append(files, options, full=full, ordered=options["bucket"] > 0)
    trigger = options["num-sorted-run.compaction-trigger"]
    levels = Levels.of(files, options["num-levels"] or trigger + 1)
    if full:
        return full_unit(levels, force_rewrite=options["compaction.force-rewrite-all-files"])
    strategy = UniversalCompaction(
        trigger=trigger,
        max_size_amplification_percent=options["compaction.max-size-amplification-percent"],
        size_ratio=options["compaction.size-ratio"],
    )
    return strategy.pick(levels)


def run_task(context: TableContext, task: CompactionTask) -> CommitMessage:
    """Do the work of ``task``; on an error every file that it wrote is deleted."""
    if isinstance(task.unit, AppendUnit):
        before, after = rewrite_append(context, task.partition, task.bucket, task.unit)
    else:
        before, after = _rewrite(context, task, task.unit)
    return CommitMessage(
        task.partition, task.bucket, task.total_buckets, compact_before=tuple(before), compact_after=tuple(after)
    )


def _rewrite(
    context: TableContext, task: CompactionTask, unit: CompactionUnit
) -> tuple[list[DataFile], list[DataFile]]:
    before: list[DataFile] = []
    after: list[DataFile] = []
    writers = []
    try:
        for step in plan_rewrite(unit, **_rewrite_options(context)):
            if isinstance(step, Upgrade):
                before.append(step.file)
                after.append(step.file.upgraded(unit.output_level))
                continue
            writer = rolling_writer(
                context, task.partition, task.bucket, level=unit.output_level, source=FileSource.COMPACT
            )
            writers.append(writer)
            for rows in _merged(context, task, unit, step):
                writer.write(rows)
            before += step.files
            after += writer.close()
    except BaseException:
        for writer in writers:
            writer.abort()
        raise
    return before, after


def _merged(context: TableContext, task: CompactionTask, unit: CompactionUnit, step: Rewrite) -> Iterator[pa.Table]:
    key = [KEY_PREFIX + k for k in context.schema.trimmed_primary_keys]
    fields = context.schema.file_fields
    for section in step.sections:
        yield from read_section(
            context, task.partition, task.bucket, section.runs, fields, key=key, drop_deletes=unit.drop_delete
        )


def _rewrite_options(context: TableContext) -> dict[str, object]:
    raise NotImplementedError


__all__ = ["CompactionTask", "pick_tasks", "replace", "run_task"]

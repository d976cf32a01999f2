"""pick_tasks: which buckets to compact now, and what in each (format 8.2 to 8.4)."""

from __future__ import annotations

from collections.abc import Sequence

from paimon_core.compact.append import pick_append
from paimon_core.compact.task import AppendUnit, CompactionTask
from paimon_core.errors import UnsupportedFeature
from paimon_core.lsm.compaction import CompactionUnit, UniversalCompaction, full_unit
from paimon_core.lsm.levels import Levels, num_levels
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.data_file import DataFile
from paimon_core.metadata.manifest import ManifestEntry


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
    levels = Levels.of(files, num_levels(options))
    if full:
        return full_unit(levels, force_rewrite=options["compaction.force-rewrite-all-files"])
    return UniversalCompaction.of(options).pick(levels)

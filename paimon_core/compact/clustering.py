"""Incremental clustering: append tables whose compaction sorts rows by ``clustering.columns`` (option clustering.*).

Files get levels as in a primary-key table: a new file is a sorted run of level 0, and all files of a higher level are
one run. A compaction rewrites the runs that the universal rule picks as one sorted run. Levels are used only to choose
these runs: readers ignore levels, and the ranges of the files of one level may overlap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache

from paimon_core.compact.pick import largest_first, rewritable
from paimon_core.compact.sort_order import SortOrder
from paimon_core.compact.task import AppendUnit, CompactionTask
from paimon_core.lsm.compaction.universal import CompactionUnit, UniversalCompaction
from paimon_core.lsm.levels import Levels, num_levels
from paimon_core.lsm.sorted_run import SortedRun
from paimon_core.metadata import clock
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.data_file import DataFile
from paimon_core.metadata.manifests.entries import ManifestEntry
from paimon_core.metadata.manifests.index_manifest import IndexEntry
from paimon_core.metadata.rules.clustering_rules import check_clustering
from paimon_core.metadata.times.local_time import epoch_millis
from paimon_core.options import TableOptions
from paimon_core.options.names import current_names
from paimon_core.plan.split import Packing
from paimon_core.table_indexes.bucket_vectors import index_files_by_bucket, vectors_in
from paimon_core.table_indexes.live_vectors import Vectors


def is_clustered(context: TableContext) -> bool:
    """Whether compaction clusters the table: it has ``clustering.incremental``, and its rows may be reordered."""
    options = context.options
    if context.is_keyed or not options["clustering.incremental"]:
        return False
    return not context.has_buckets or not (options["bucket-append-ordered"] or options["deletion-vectors.enabled"])


def clustering_order(context: TableContext) -> SortOrder:
    """Return the sort order that the options of a clustered table define.

    Raises InvalidRequest, which names the option, for columns by which rows cannot be sorted; Java may have created a
    table with such columns.
    """
    check_clustering(context)
    columns, strategy = context.options["clustering.columns"], context.options["clustering.strategy"]
    if strategy == "auto":
        strategy = "order" if len(columns) == 1 else "zorder" if len(columns) < 5 else "hilbert"
    return SortOrder.of(context, columns, strategy)


def clustering_levels(files: Iterable[DataFile], count: int) -> Levels:
    """Return the files of a bucket as ``count`` levels, in the same order as in Java.

    The files are sorted by their smallest sequence number. In a table without buckets, all sequence numbers are equal,
    and the files keep the order of the manifests.
    """
    by_level: dict[int, list[DataFile]] = {}
    for file in sorted(files, key=lambda f: f.min_sequence_number):
        by_level.setdefault(file.level, []).append(file)
    runs = [SortedRun(0, (file,)) for file in by_level.pop(0, ())]
    runs += [SortedRun(level, tuple(by_level[level])) for level in sorted(by_level)]
    return Levels(tuple(runs), count)


def pick_cluster(
    levels: Levels,
    options: TableOptions,
    *,
    full: bool,
    is_sorted: Callable[[DataFile], bool],
    vectors: Vectors,
) -> CompactionUnit | None:
    """Return the runs of a bucket to rewrite as one sorted run; None when the universal rule picks no runs.

    With ``full``, all runs are rewritten into the last level, and nothing is picked if the bucket is already one run in
    the last level, ``is_sorted`` is true for each file (it was clustered by the same columns), and no row is deleted.
    Java does not check for deleted rows.
    """
    if not full:
        return UniversalCompaction.of(options).pick(levels)
    if not levels.runs:
        return None
    is_one_run = len(levels.runs) == 1 and levels.runs[0].level == levels.max_level
    if is_one_run and all(is_sorted(f) and f.file_name not in vectors for f in levels.files):
        return None
    return CompactionUnit(levels.max_level, levels.files, drop_delete=True)


def cluster_tasks(
    context: TableContext,
    entries: Sequence[ManifestEntry],
    indexes: Sequence[IndexEntry] = (),
    *,
    full: bool = False,
    matches: Callable[[bytes], bool] | None = None,
    now_millis: int | None = None,
) -> list[CompactionTask]:
    """Return the compactions that cluster the live ``entries`` at an epoch time (None: now), largest first.

    ``matches`` selects partitions. If ``matches`` is given, up to ``clustering.history-partition.limit`` other
    partitions are clustered fully, the oldest first, if they had no new file for the time of option
    ``clustering.history-partition.idle-to-full-sort``. Raises UnsupportedFeature as ``pick_tasks`` does, and
    InvalidRequest for ``clustering.columns`` by which rows cannot be sorted.
    """
    order, count = clustering_order(context), num_levels(context.options)
    places = rewritable(context, entries)
    all_of = {place for place in places if matches is None or matches(place[0])}
    idle: set[tuple[bytes, int]] = set()
    if matches is not None and not context.has_buckets:
        others = {place: found for place, found in places.items() if place not in all_of}
        idle = _idle(context, others, count - 1, clock.now_millis(now_millis))
    index_files = index_files_by_bucket(indexes)
    is_sorted = _sorted_by(context, order)
    tasks = []
    for place in (p for p in places if p in all_of or p in idle):
        there = index_files.get(place, ())
        levels = clustering_levels((e.file for e in places[place]), count)
        picked = pick_cluster(
            levels, context.options, full=full or place in idle, is_sorted=is_sorted, vectors=vectors_in(there)
        )
        if picked is not None:
            unit = AppendUnit(_groups(context, picked.files), order, picked.output_level)
            tasks.append(CompactionTask(*place, places[place][0].total_buckets, unit, indexes=there))
    return largest_first(tasks)


def _groups(context: TableContext, files: tuple[DataFile, ...]) -> tuple[tuple[DataFile, ...], ...]:
    """Return groups of files to sort together: one group, or groups of the size of a split for mode local-sort."""
    options = context.options
    if options["clustering.incremental.mode"] == "global-sort":
        return (files,)
    packing = Packing(options["source.split.target-size"], options["source.split.open-file-cost"])
    return tuple(map(tuple, packing.pack(files, lambda f: f.file_size)))


def _idle(
    context: TableContext, places: dict[tuple[bytes, int], list[ManifestEntry]], top: int, now: int
) -> set[tuple[bytes, int]]:
    """Return the partitions with files below level ``top`` that had no new file for the time of option
    ``clustering.history-partition.idle-to-full-sort``.
    """
    idle_millis = context.options["clustering.history-partition.idle-to-full-sort"]
    if idle_millis is None:
        return set()
    last: dict[tuple[bytes, int], int] = {}
    for place, entries in places.items():
        created = [e.file.creation_time_millis for e in entries if e.file.level < top]
        known = [None if c is None else epoch_millis(c) for c in created]
        times = [t for t in known if t is not None]
        if times and len(times) == len(created) and max(times) < now - idle_millis:
            last[place] = max(times)
    return set(sorted(last, key=lambda p: (last[p], p))[: context.options["clustering.history-partition.limit"]])


def _sorted_by(context: TableContext, order: SortOrder) -> Callable[[DataFile], bool]:
    """Return a function that decides whether a file was clustered by the columns of ``order``.

    The schema of the file has the option ``clustering.columns`` with these columns.
    """

    @cache
    def same(schema_id: int) -> bool:
        text = current_names(context.schemas.read(schema_id).options).get("clustering.columns", "")
        found: tuple[str, ...] = TableOptions.parse({"clustering.columns": text})["clustering.columns"]
        return found == order.columns

    return lambda file: same(file.schema_id)

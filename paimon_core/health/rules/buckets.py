"""Rules about partitions and buckets: hot, too many, too few, small partitions."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from paimon_core.health.cost import REQUEST_BYTES, REQUESTS_A_FILE
from paimon_core.health.facts import Facts
from paimon_core.health.finding import Finding, Severity
from paimon_core.health.places import bucket_text, counted, megabytes, partition_text
from paimon_core.options.bucket_number import BUCKET_BYTES


def hot_bucket(facts: Facts) -> Iterator[Finding]:
    """Find a bucket with many times the bytes of the other buckets of its partition."""
    layout, limits = facts.layout, facts.thresholds
    if not len(layout) or facts.context.options["bucket"] < 1:
        return
    count = np.maximum(layout.total_buckets, 1)
    others = (layout.partition_bytes[layout.partition] - layout.bytes) / np.maximum(count - 1, 1)
    ratio = np.where(count > 1, layout.bytes / np.maximum(others, 1), 0)
    ill = (ratio >= limits.hot_bucket_ratio) & (layout.bytes >= limits.hot_bucket_bytes)
    if not ill.any():
        return
    at = int(np.argmax(np.where(ill, layout.bytes, 0)))
    keys = ", ".join(facts.context.bucket_keys)
    buckets = int(layout.total_buckets[at])
    size = int(layout.partition_bytes[layout.partition[at]])
    times = min(float(ratio[at]), float(layout.bytes[at]))
    yield Finding(
        name="hot-bucket",
        severity=Severity.WARNING,
        measure=round(times, 1),
        threshold=limits.hot_bucket_ratio,
        threshold_from="hot_bucket_ratio",
        text=f"{bucket_text(facts, at)} has {megabytes(int(layout.bytes[at]))}, {times:,.0f} times the mean of the "
        f"other {counted(buckets - 1, 'bucket')}, because few values of ({keys}) have most rows: reads and compactions "
        "of it run alone. If a few values have most rows, other columns in bucket-key spread them, else more buckets",
        commands=_rescale(facts, _more(buckets)),
        mend_cost=f"reads and rewrites {megabytes(size)}; it helps only when the rows have different bucket keys",
        cost_bytes=int(layout.bytes[at] - others[at]),
        options={"bucket": str(_more(buckets))},
        arguments={"buckets": _more(buckets)},
    )


def _more(buckets: int) -> int:
    """Return a larger number of buckets that is no multiple of ``buckets``, so that keys of one bucket are spread."""
    return 2 * buckets + 1


def _rescale(facts: Facts, buckets: int) -> tuple[str, ...]:
    return facts.command("alter", f"SET ('bucket' = '{buckets}')"), facts.command("rescale")


def too_many_buckets(facts: Facts) -> Iterator[Finding]:
    """Find tables whose buckets have less than a tenth of the recommended bytes."""
    layout, limits = facts.layout, facts.thresholds
    if not len(layout) or facts.context.options["bucket"] < 1:
        return
    per_partition = np.zeros(len(layout.partitions), np.int64)
    np.maximum.at(per_partition, layout.partition, layout.total_buckets)
    mean = layout.partition_bytes / np.maximum(per_partition, 1)
    ill = (per_partition >= limits.buckets_least) & (mean < limits.bucket_bytes_least)
    if not ill.any():
        return
    buckets, size = int(per_partition[ill].sum()), int(layout.partition_bytes[ill].sum())
    largest = int(layout.partition_bytes[ill].max())
    wanted = max(1, -(-largest // (BUCKET_BYTES // 2)))
    avoidable = max(0, buckets - wanted * int(ill.sum()))
    yield Finding(
        name="too-many-buckets",
        severity=Severity.WARNING,
        measure=round(size / buckets),
        threshold=limits.bucket_bytes_least,
        threshold_from="bucket_bytes_least",
        text=f"{int(per_partition[ill].max())} buckets{_of_partitions(facts, ill)} have {megabytes(size / buckets)} on "
        f"average: each full scan opens about {avoidable:,} more files than with "
        f"{counted(wanted, 'bucket')}",
        commands=_rescale(facts, wanted),
        mend_cost=f"reads and rewrites {megabytes(size)}",
        cost_bytes=REQUESTS_A_FILE * avoidable * REQUEST_BYTES,
        options={"bucket": str(wanted)},
        arguments={"buckets": wanted},
    )


def too_few_buckets(facts: Facts) -> Iterator[Finding]:
    """Find tables with fixed buckets that are far larger than recommended."""
    layout, limits = facts.layout, facts.thresholds
    if not len(layout) or facts.context.options["bucket"] < 1:
        return
    mean = layout.partition_bytes[layout.partition] / np.maximum(layout.total_buckets, 1)
    if float(mean.max()) < limits.bucket_bytes_most:
        return
    at = int(np.argmax(mean))
    size = int(layout.partition_bytes[layout.partition[at]])
    wanted = max(int(layout.total_buckets[at]) + 1, -(-size // BUCKET_BYTES))
    yield Finding(
        name="too-few-buckets",
        severity=Severity.WARNING,
        measure=round(float(mean[at])),
        threshold=limits.bucket_bytes_most,
        threshold_from="bucket_bytes_most",
        text=f"{counted(int(layout.total_buckets[at]), 'bucket')}{partition_text(facts, int(layout.partition[at]))} "
        f"with {megabytes(float(mean[at]))} on average: only so many tasks can read, merge or compact them at the same "
        "time, and each compaction rewrites a large bucket",
        commands=_rescale(facts, wanted),
        mend_cost=f"reads and rewrites {megabytes(size)}",
        cost_bytes=0,
        options={"bucket": str(wanted)},
        arguments={"buckets": wanted},
    )


def small_partitions(facts: Facts) -> Iterator[Finding]:
    """Find tables that are divided into many partitions of few bytes."""
    layout, limits = facts.layout, facts.thresholds
    count = len(layout.partitions)
    mean = layout.total_bytes / max(1, count)
    if count < max(2, limits.small_partitions) or mean >= limits.partition_bytes_least:
        return
    keys = ", ".join(facts.context.schema.partition_keys)
    files = layout.total_files - int(layout.needed_files.sum() / count)
    yield Finding(
        name="small-partitions",
        severity=Severity.WARNING,
        measure=count,
        threshold=limits.small_partitions,
        threshold_from="small_partitions",
        text=f"{count:,} partitions by ({keys}) have {megabytes(mean)} on average: each full scan opens "
        f"{layout.total_files:,} files, and a compaction cannot combine files of several partitions",
        commands=(facts.command("expire partitions", "--older-than", "365 d", "--apply"),),
        mend_cost="removes the rows of partitions that are older; to keep all rows, write them into a new table with "
        f"coarser partitions, such as months, which rewrites {megabytes(layout.total_bytes)}",
        cost_bytes=REQUESTS_A_FILE * max(0, files) * REQUEST_BYTES,
    )


def _of_partitions(facts: Facts, ill: np.ndarray) -> str:
    count = int(ill.sum())
    if len(facts.layout.partitions) == 1:
        return partition_text(facts, 0)
    return f" in each of {count:,} partitions" if count > 1 else partition_text(facts, int(np.flatnonzero(ill)[0]))


BUCKET_RULES: tuple[Callable[[Facts], Iterator[Finding]], ...] = (
    hot_bucket,
    too_many_buckets,
    too_few_buckets,
    small_partitions,
)

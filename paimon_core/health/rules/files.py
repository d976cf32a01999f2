"""Rules about data files: sorted runs, small files, deleted rows, level 0, file indexes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from paimon_core.health.cost import MERGE_FACTOR, REQUEST_BYTES, REQUESTS_A_FILE
from paimon_core.health.facts import MILLIS_A_DAY, Facts
from paimon_core.health.finding import Finding, Severity
from paimon_core.health.layout import UNKNOWN_TIME
from paimon_core.health.places import bucket_text, counted, megabytes
from paimon_core.metadata.times.local_time import local_millis
from paimon_core.plan.plan_scan import hides_level_0

RUNS_TRIGGER, RUNS_STOP = "num-sorted-run.compaction-trigger", "num-sorted-run.stop-trigger"


def many_sorted_runs(facts: Facts) -> Iterator[Finding]:
    """Find buckets with more sorted runs than the option that starts a compaction allows."""
    layout, options = facts.layout, facts.context.options
    trigger = int(options[RUNS_TRIGGER])
    most = int(layout.runs.max(initial=0))
    if not facts.context.is_keyed or most <= trigger:
        return
    ill = layout.runs > trigger
    stop = int(options[RUNS_STOP] or trigger + 3)
    waits = most >= stop and not options["write-only"]
    size = int(layout.bytes[ill].sum())
    others = int(ill.sum()) - 1
    also = f", and so {'has' if others == 1 else 'have'} {counted(others, 'other bucket')}" if others else ""
    hidden = hides_level_0(facts.context.schema, options)
    yield Finding(
        name="many-sorted-runs",
        severity=Severity.ERROR if most >= stop else Severity.WARNING,
        measure=most,
        threshold=trigger,
        threshold_from=f"option {RUNS_TRIGGER}",
        text=f"{bucket_text(facts, int(np.argmax(layout.runs)))} has {most} sorted runs, more than the {trigger} that "
        f"start a compaction{also}: {'compactions have to merge' if hidden else 'each read merges'} {megabytes(size)}"
        + (f". Writes wait for compactions from {stop} on" if waits else ""),
        commands=(facts.command("compact"),),
        mend_cost=f"reads and rewrites at most {megabytes(size)}",
        cost_bytes=int(layout.merged_bytes[ill].sum() * (MERGE_FACTOR - 1)),
        safe=True,
    )


def small_files(facts: Facts) -> Iterator[Finding]:
    """Find tables in which at least half of the files are avoidable: a full compaction would save them."""
    layout, least = facts.layout, facts.thresholds.avoidable_files
    avoidable, files = layout.avoidable_files, layout.total_files
    if avoidable < max(1, least) or 2 * avoidable < files:
        return
    ill = layout.files > layout.needed_files
    size = int(layout.bytes[ill].sum())
    requests = REQUESTS_A_FILE * avoidable
    yield Finding(
        name="small-files",
        severity=Severity.WARNING,
        measure=avoidable,
        threshold=least,
        threshold_from="avoidable_files",
        text=f"{files:,} files of {megabytes(layout.total_bytes / max(1, files))} on average, of which {avoidable:,} "
        f"would not be needed: each full scan makes {requests:,} more requests",
        commands=(facts.command("compact", "--full"),),
        mend_cost=f"reads and rewrites {megabytes(size)}",
        cost_bytes=requests * REQUEST_BYTES,
        safe=True,
    )


def kept_deletes(facts: Facts) -> Iterator[Finding]:
    """Find tables whose files still have a large share of deleted rows."""
    rows, share = int(facts.layout.rows.sum()), facts.thresholds.deleted_share
    deleted = facts.deleted_rows
    if deleted < max(1, facts.thresholds.deleted_rows) or deleted < share * rows:
        return
    size = facts.layout.total_bytes
    yield Finding(
        name="kept-deletes",
        severity=Severity.WARNING,
        measure=round(deleted / rows, 3),
        threshold=share,
        threshold_from="deleted_share",
        text=f"{deleted:,} of the {rows:,} rows in files delete another row or are deleted: each read decodes them, "
        "and the deleted values can still be read from the files",
        commands=(facts.command("compact", "--full"),),
        mend_cost=f"reads and rewrites at most {megabytes(size)}",
        cost_bytes=int(size * deleted / rows),
        safe=True,
    )


def old_level_0(facts: Facts) -> Iterator[Finding]:
    """Find files of level 0 that no compaction has merged for long.

    There is no finding where batch reads see level 0 and writes compact: there, files of level 0 may stay until they
    are enough for a compaction.
    """
    layout, hours = facts.layout, facts.thresholds.level_0_hours
    hidden = hides_level_0(facts.context.schema, facts.context.options)
    waits = hidden or (facts.context.is_keyed and facts.context.options["write-only"])
    if not waits or not layout.level_0_files.any():
        return
    before = local_millis(facts.now_millis) - int(hours * MILLIS_A_DAY / 24)
    is_old = (layout.oldest_level_0 > UNKNOWN_TIME) & (layout.oldest_level_0 < before)
    ill = is_old & (layout.level_0_files > 0) & (hidden | (layout.runs > 1))
    if not ill.any():
        return
    age = _hours_since(facts, int(layout.oldest_level_0[ill].min()))
    size = int(layout.bytes[ill].sum())
    yield Finding(
        name="old-level-0",
        severity=Severity.ERROR if hidden else Severity.WARNING,
        measure=round(age, 1),
        threshold=hours,
        threshold_from="level_0_hours",
        text=f"{counted(int(ill.sum()), 'bucket')} with files of level 0 that are up to {age:,.0f} hours old: no "
        "compaction runs" + (", and batch reads do not see their rows" if hidden else ""),
        commands=(facts.command("compact", "--full"),),
        mend_cost=f"reads and rewrites at most {megabytes(size)}",
        cost_bytes=int(layout.merged_bytes[ill].sum() * (MERGE_FACTOR - 1)),
        safe=True,
    )


def waiting_rows(facts: Facts) -> Iterator[Finding]:
    """Find rows of the postpone bucket that no compaction has moved for long."""
    waiting, hours = facts.waiting, facts.thresholds.level_0_hours
    if waiting.oldest_millis is None or (age := _hours_since(facts, waiting.oldest_millis)) < hours:
        return
    yield Finding(
        name="waiting-rows",
        severity=Severity.ERROR,
        measure=round(age, 1),
        threshold=hours,
        threshold_from="level_0_hours",
        text=f"{counted(waiting.rows, 'row')} in {counted(waiting.files, 'file')} of the postpone bucket for up to "
        f"{age:,.0f} hours: no read sees them before a compaction, and no compaction runs",
        commands=(facts.command("compact"),),
        mend_cost=f"reads and rewrites {megabytes(waiting.bytes)}, and what the buckets then compact",
        cost_bytes=waiting.bytes,
        safe=True,
    )


def _hours_since(facts: Facts, created: int) -> float:
    """Return the hours since a local time in milliseconds."""
    return (local_millis(facts.now_millis) - created) / (MILLIS_A_DAY / 24)


FILE_RULES: tuple[Callable[[Facts], Iterator[Finding]], ...] = (
    many_sorted_runs,
    small_files,
    kept_deletes,
    old_level_0,
    waiting_rows,
)

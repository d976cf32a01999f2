"""Rules about what holds old files: snapshots, tags, branches and consumers."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from paimon_core.health.facts import Facts
from paimon_core.health.finding import Finding, Severity
from paimon_core.health.places import megabytes
from paimon_core.options.scan_position import OTHER_BRANCHES

KEPT = 100
"""The number of snapshots that the advice keeps."""


def no_expiry(facts: Facts) -> Iterator[Finding]:
    """Find tables with many snapshots, or with many bytes that only old snapshots hold."""
    held, limits = facts.held, facts.thresholds
    is_many = held.snapshot_count >= max(2, limits.snapshots)
    is_large = held.snapshots >= max(limits.held_bytes, 1) and held.snapshots >= limits.held_ratio * held.live
    if not (is_many or is_large) or held.snapshot_count < 2:
        return
    keep = min(KEPT, max(1, held.snapshot_count // 2))
    age = facts.days_since(held.first_snapshot_millis or facts.now_millis)
    yield Finding(
        name="no-expiry",
        severity=Severity.WARNING,
        measure=held.snapshot_count if is_many else round(held.snapshots / max(1, held.live), 2),
        threshold=limits.snapshots if is_many else limits.held_ratio,
        threshold_from="snapshots" if is_many else "held_ratio",
        text=f"{held.snapshot_count:,} snapshots have not expired, the oldest is {age:,.1f} days old: only they use "
        f"{megabytes(held.snapshots)} of data files",
        command=facts.command("expire snapshots", "--keep-max", str(keep), "--apply"),
        mend_cost=f"reads the metadata of the snapshots and deletes at most {megabytes(held.snapshots)}; the versions "
        "before the last "
        f"{keep} can no longer be read",
        cost_bytes=held.snapshots,
        options={"snapshot.num-retained.max": str(keep)},
        arguments={"keep_max": keep},
    )


def stale_tags(facts: Facts) -> Iterator[Finding]:
    """Find tags that never expire and are many, or old and hold bytes of their own."""
    limits = facts.thresholds
    kept = [one for one in facts.held.tags if one.tag.expires_millis is None]
    old = [o for o in kept if facts.days_since(o.tag.snapshot.time_millis) >= limits.tag_days and o.bytes]
    is_many = len(kept) >= max(1, limits.tags)
    if not is_many and not old:
        return
    many = sorted(kept, key=lambda one: one.tag.snapshot.time_millis)[: len(kept) - limits.tags + 1] if is_many else []
    ill = [one for one in kept if one in many or one in old]
    size = sum(one.bytes for one in ill)
    first = min(ill, key=lambda one: one.tag.snapshot.time_millis)
    age = facts.days_since(first.tag.snapshot.time_millis)
    yield Finding(
        name="stale-tags",
        severity=Severity.WARNING,
        measure=len(kept) if is_many else round(age, 1),
        threshold=limits.tags if is_many else limits.tag_days,
        threshold_from="tags" if is_many else "tag_days",
        text=f"{len(kept)} tags have no time of retention, the oldest ({first.tag.name}) is {age:,.1f} days old: only "
        f"the oldest {len(ill)} use {megabytes(size)} of data files",
        command=facts.command("doctor", "--fix", "stale-tags"),
        mend_cost=f"deletes the oldest {len(ill)} tags and frees {megabytes(size)}; their versions can then no longer "
        "be read. To delete one: paimon-core tags delete",
        cost_bytes=size,
        options={"tag.default-time-retained": f"{max(1, int(limits.tag_days))} d"},
        arguments={"tags": [one.tag.name for one in ill]},
    )


def forgotten_branches(facts: Facts) -> Iterator[Finding]:
    """Find branches to which nobody has committed for long."""
    limits, options = facts.thresholds, facts.context.options
    read = {options[name] for name in OTHER_BRANCHES}  # reads of main also read these
    ill = [
        one
        for one in facts.held.branches
        if facts.days_since(one.last_change_millis) >= limits.branch_days and one.name not in read
    ]
    if not ill:
        return
    first = max(ill, key=lambda one: (one.bytes, one.name))
    size, age = sum(one.bytes for one in ill), facts.days_since(first.last_change_millis)
    names = ", ".join(one.name for one in ill[:3]) + (f" and {len(ill) - 3} more" if ill[3:] else "")
    yield Finding(
        name="forgotten-branch",
        severity=Severity.WARNING,
        measure=round(age, 1),
        threshold=limits.branch_days,
        threshold_from="branch_days",
        text=f"nobody has committed to {'branch' if len(ill) == 1 else 'branches'} {names} for {age:,.1f} days: only "
        f"{'it uses' if len(ill) == 1 else 'they use'} {megabytes(size)} of data files",
        command=" && ".join(facts.command("branches delete", one.name, "--apply") for one in ill),
        mend_cost=f"the rows that only {'it has' if len(ill) == 1 else 'they have'} are lost; an orphan removal then "
        f"frees {megabytes(size)}",
        cost_bytes=size,
        arguments={"branches": [one.name for one in ill]},
    )


def dead_consumers(facts: Facts) -> Iterator[Finding]:
    """Find streaming readers that no longer write their position, and so keep snapshots from expiring."""
    limits, latest = facts.thresholds, facts.snapshot
    ill = [c for c in facts.consumers if facts.days_since(c.modified_millis) >= limits.consumer_days]
    if not ill or latest is None:
        return
    first = min(ill, key=lambda c: c.next_snapshot)
    behind = max(0, latest.id - first.next_snapshot + 1)
    if behind == 0:
        return
    age = facts.days_since(first.modified_millis)
    days = max(1, int(limits.consumer_days))
    yield Finding(
        name="dead-consumer",
        severity=Severity.WARNING,
        measure=round(age, 1),
        threshold=limits.consumer_days,
        threshold_from="consumer_days",
        text=f"consumer {first.name} has not read for {age:,.1f} days and is {behind:,} snapshots behind: no snapshot "
        f"from {first.next_snapshot} on can expire",
        command=facts.command("expire consumers", "--older-than", f"{days} d", "--apply"),
        mend_cost="a reader with this name that starts again begins where it is told to, and may miss changes",
        cost_bytes=facts.held.snapshots,
        options={"consumer.expiration-time": f"{days} d"},
        arguments={"days": days},
    )


HISTORY_RULES: tuple[Callable[[Facts], Iterator[Finding]], ...] = (
    no_expiry,
    stale_tags,
    forgotten_branches,
    dead_consumers,
)

"""Rules about what holds old files: snapshots, tags, branches and consumers; and which of them are damaged."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from paimon_core.health.facts import Facts
from paimon_core.health.finding import Finding, Severity
from paimon_core.health.places import counted, megabytes
from paimon_core.maintain.tags.automatic import is_counted
from paimon_core.metadata.stores.consumer_store import Consumer
from paimon_core.options.scan_position import OTHER_BRANCHES

KEPT = 100
"""The largest number of snapshots that the advice keeps."""


def damaged_snapshots(facts: Facts) -> Iterator[Finding]:
    """Find snapshots, tags, changelogs and branches that cannot be read, although the latest version can."""
    damages = facts.held.damages
    if not damages:
        return
    first, error = next(iter(damages.items()))
    more = f"; {counted(len(damages) - 1, 'more damage')}" if len(damages) > 1 else ""
    on = sorted({what.partition(" of branch ")[2] or facts.context.branch for what in damages})
    yield Finding(
        name="damaged-snapshot",
        severity=Severity.ERROR,
        measure=len(damages),
        threshold=0,
        threshold_from="always a finding",
        text=f"{first} cannot be read: {error}{more}. The latest version can be read, but expiry and the removal of "
        "orphans fail, and the bytes that old versions hold are not all known",
        commands=tuple(facts.command_on(branch, "repair", "--apply") for branch in on),
        mend_cost="moves the files that cannot be read, and all snapshots before them, to a quarantine: these versions "
        "can then no longer be read. Without --apply it prints the plan",
        arguments={"branches": on},
    )


def no_expiry(facts: Facts) -> Iterator[Finding]:
    """Find tables with many snapshots, or with many bytes that only old snapshots hold."""
    held, limits = facts.held, facts.thresholds
    count = held.snapshot_count
    freed = held.snapshots - held.if_oldest[-1] if held.if_oldest else 0
    most_bytes = max(limits.held_bytes, 1, limits.held_ratio * held.live)
    is_many, is_large = count >= max(2, limits.snapshots), freed >= most_bytes
    if not (is_many or is_large) or count < 2:
        return
    # Half of what is a finding, so that the next commits do not make it one again.
    few = sum(size - held.if_oldest[-1] <= most_bytes / 2 for size in held.if_oldest)
    keep = max(1, min(KEPT, few, count - 1, *((limits.snapshots // 2,) if is_many else ())))
    freed = held.snapshots - held.if_oldest[-keep]
    reader = min(facts.consumers, key=lambda c: c.next_snapshot, default=None)
    age = facts.days_since(held.first_snapshot_millis or facts.now_millis)
    yield Finding(
        name="no-expiry",
        severity=Severity.WARNING,
        measure=count if is_many else round(held.snapshots / max(1, held.live), 2),
        threshold=limits.snapshots if is_many else limits.held_ratio,
        threshold_from="snapshots" if is_many else "held_ratio",
        text=f"{count:,} snapshots have not expired, the oldest is {age:,.1f} days old: {megabytes(held.snapshots)} of "
        "data files are kept for them that the latest version does not use"
        + (f"; consumer {reader.name} keeps snapshots from {reader.next_snapshot} on" if reader else ""),
        commands=(
            facts.command(
                "expire snapshots", "--keep-last", "1", "--keep-max", str(keep), "--limit", str(count), "--apply"
            ),
        ),
        mend_cost=f"reads the metadata of the snapshots and deletes at most {megabytes(freed)}; the versions before "
        f"the last {keep} can no longer be read",
        cost_bytes=held.snapshots,
        options=_retained(keep, int(facts.context.options["snapshot.num-retained.min"])),
        arguments={"keep_max": keep},
    )


def _retained(most: int, least: int) -> dict[str, str]:
    """Return the options that keep ``most`` snapshots; the option for the minimum is lowered if it is larger."""
    options = {"snapshot.num-retained.max": str(most)}
    return options if least <= most else {"snapshot.num-retained.min": str(most)} | options


def stale_tags(facts: Facts) -> Iterator[Finding]:
    """Find tags that never expire, if they are many, or if they are old and hold bytes of their own."""
    limits, context = facts.thresholds, facts.context
    kept = [o for o in facts.held.tags if o.tag.expires_millis is None and not is_counted(context, o.tag.name)][::-1]
    # The bytes count for the newest tag that uses them, so all tags up to it must go to free them.
    old = [
        n
        for n, one in enumerate(kept, start=1)
        if one.bytes and facts.days_since(one.tag.snapshot.time_millis) >= limits.tag_days
    ]
    is_many = len(kept) >= max(1, limits.tags)
    ill = kept[: max([*old, len(kept) - max(1, limits.tags) + 1])]
    if not ill:
        return
    size = sum(one.bytes for one in ill)
    age = facts.days_since(ill[0].tag.snapshot.time_millis)
    yield Finding(
        name="stale-tags",
        severity=Severity.WARNING,
        measure=len(kept) if is_many else round(age, 1),
        threshold=limits.tags if is_many else limits.tag_days,
        threshold_from="tags" if is_many else "tag_days",
        text=f"{counted(len(kept), 'tag')} without a time of retention, the oldest ({ill[0].tag.name}) is {age:,.1f} "
        f"days old: {megabytes(size)} of data files are kept only for the oldest {len(ill)}",
        commands=(facts.fix_command("stale-tags", "tags", "tag_days"),),
        mend_cost=f"deletes the oldest {counted(len(ill), 'tag')} and frees at most {megabytes(size)}; these versions "
        "can then no longer be read. To delete one: paimon-core tags delete",
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
        commands=tuple(facts.command("branches delete", one.name, "--apply") for one in ill),
        mend_cost=f"deletes the rows that only {'it has' if len(ill) == 1 else 'they have'}; an orphan removal then "
        f"frees {megabytes(size)}",
        cost_bytes=size,
        arguments={"branches": [one.name for one in ill]},
    )


def dead_consumers(facts: Facts) -> Iterator[Finding]:
    """Find streaming readers that no longer write their position, and so keep snapshots from expiring."""
    limits, latest = facts.thresholds, facts.snapshot
    if latest is None:
        return
    ages = {c.name: facts.days_since(_unread_since(facts, c)) for c in facts.consumers if c.next_snapshot <= latest.id}
    ill = [c for c in facts.consumers if ages.get(c.name, -1) >= limits.consumer_days]
    if not ill:
        return
    first = min(ill, key=lambda c: c.next_snapshot)
    age = ages[first.name]
    days = max(1, int(limits.consumer_days))
    yield Finding(
        name="dead-consumer",
        severity=Severity.WARNING,
        measure=round(age, 1),
        threshold=limits.consumer_days,
        threshold_from="consumer_days",
        text=f"consumer {first.name} has not read for {age:,.1f} days and is {latest.id - first.next_snapshot + 1:,} "
        f"snapshots behind: no snapshot from {first.next_snapshot} on can expire",
        commands=(facts.fix_command("dead-consumer", "consumer_days"),),
        mend_cost=f"deletes the position of {counted(len(ill), 'consumer')}: a reader with this name that starts again "
        "begins where it is told to, and may miss changes",
        cost_bytes=facts.held.snapshots,
        options={"consumer.expiration-time": f"{days} d"},
        arguments={"consumers": {c.name: c.modified_millis for c in ill}},
    )


def _unread_since(facts: Facts, consumer: Consumer) -> int:
    """Return the time, in epoch milliseconds, since which a consumer has had changes to read and not moved."""
    return max(consumer.modified_millis, facts.held.commit_millis(consumer.next_snapshot))


HISTORY_RULES: tuple[Callable[[Facts], Iterator[Finding]], ...] = (
    damaged_snapshots,
    no_expiry,
    stale_tags,
    forgotten_branches,
    dead_consumers,
)

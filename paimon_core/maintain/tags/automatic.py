"""Automatic tags: creates a tag at the end of each period, or after each batch write (format 15.1).

With tags by period, the snapshots after the last snapshot with an automatic tag are checked in order. The first
snapshot whose time is after the end of the next period (plus the delay) gets the tag of the last period that ended
before the snapshot. With option ``tag.automatic-completion``, the snapshot gets the tag of the period after the last
automatic tag instead, so that no period is left out. Each snapshot gets at most one tag. The tags are the only state
between calls, so any process can continue, even after a crash. The rules are the same as in Java, so that Java and this
library create the same tags.
"""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Iterator

from paimon_core.errors import AlreadyExists, SnapshotNotFound, TagNotFound
from paimon_core.maintain.tags.expiry import expire_tags
from paimon_core.maintain.tags.operations import create_tag, delete_tag, replace_tag
from paimon_core.metadata import clock
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.metadata.stores.tag_store import Tag
from paimon_core.metadata.times.automatic_tag_names import BY_PERIOD, EPOCH, MILLISECOND, Periods, check_tag_options

BATCH_PREFIX = "batch-write-"
_NO_WATERMARK = -(2**63)


def create_due_tags(context: TableContext, snapshot: Snapshot | None = None) -> list[Tag]:
    """Create the automatic tags that are due, and return the new tags.

    ``snapshot`` is the snapshot of a batch write, by default the latest snapshot. Raises InvalidRequest when the delay
    is not shorter than the period.
    """
    mode = context.options["tag.automatic-creation"]
    if mode == "batch":
        latest = snapshot or context.snapshots.latest()
        return [] if latest is None else [_batch_tag(context, latest)]
    return _period_tags(context) if mode in BY_PERIOD else []


def create_and_expire_tags(context: TableContext, snapshot: Snapshot) -> None:
    """Create the tags that are due, then delete expired tags; called after a commit."""
    create_due_tags(context, snapshot)
    if context.options["tag.time-expire-enabled"]:
        expire_tags(context, clock.now_millis())


def _period_tags(context: TableContext) -> list[Tag]:
    options, periods = context.options, Periods.of(context.options)
    check_tag_options(options)
    delay = options["tag.creation-delay"]
    last = _last_automatic(context, periods)
    due = None if last is None else _start(periods, last.name) + periods.millis
    created = []
    for snapshot in _after(context, 0 if last is None else last.snapshot.id):
        local_millis = _local_time(context, snapshot)
        if local_millis is None or (due is not None and local_millis - delay < due + periods.millis):
            continue
        start = due if due is not None and options["tag.automatic-completion"] else periods.ended(local_millis)
        # A concurrent process may have created the tag, or expired the snapshot.
        with contextlib.suppress(AlreadyExists, SnapshotNotFound):
            created.append(create_tag(context, periods.name(start), snapshot, options["tag.default-time-retained"]))
        due = start + periods.millis
        _drop_surplus(context, [t for t in context.tags.list() if periods.start(t.name) is not None])
    return created


def _batch_tag(context: TableContext, snapshot: Snapshot) -> Tag:
    """Create the tag of a batch write, or let the existing tag reference this snapshot; return the tag."""
    name = context.options["tag.batch.customized-name"]
    if name is None:
        moment = EPOCH + (_wall_millis(snapshot.time_millis, context.options["sink.process-time-zone"]) * MILLISECOND)
        name = f"{BATCH_PREFIX}{moment:%Y-%m-%d}"
    retained = context.options["tag.default-time-retained"]
    try:
        tag = create_tag(context, name, snapshot, retained)
    except AlreadyExists:
        tag = context.tags.read(name)
        if tag.snapshot.id < snapshot.id:  # a repeated, older commit must not replace the tag
            tag = replace_tag(context, name, snapshot, retained)
    _drop_surplus(context, [t for t in context.tags.list() if t.name.startswith(BATCH_PREFIX)])
    return tag


def is_counted(context: TableContext, name: str) -> bool:
    """Whether the tag ``name`` is one of the tags whose number the option ``tag.num-retained-max`` limits."""
    mode = context.options["tag.automatic-creation"]
    if mode == "none" or context.options["tag.num-retained-max"] is None:
        return False
    return name.startswith(BATCH_PREFIX) if mode == "batch" else Periods.of(context.options).start(name) is not None


def _drop_surplus(context: TableContext, automatic: list[Tag]) -> None:
    """Delete the oldest of the ``automatic`` tags if there are more than option ``tag.num-retained-max`` allows."""
    most = context.options["tag.num-retained-max"]
    if most is None:
        return
    for tag in sorted(automatic, key=lambda t: (t.snapshot.id, t.name))[: max(len(automatic) - most, 0)]:
        with contextlib.suppress(TagNotFound):
            delete_tag(context, tag.name)


def _last_automatic(context: TableContext, periods: Periods) -> Tag | None:
    """Return the automatic tag of the last period; None when there is no automatic tag. Other tags are not read."""
    while True:
        names = [(start, name) for name in context.tags.names() if (start := periods.start(name)) is not None]
        if not names:
            return None
        with contextlib.suppress(TagNotFound):  # deleted meanwhile: retry
            return context.tags.read(max(names)[1])


def _start(periods: Periods, name: str) -> int:
    start = periods.start(name)
    assert start is not None
    return start


def _after(context: TableContext, snapshot_id: int) -> Iterator[Snapshot]:
    for following in context.snapshots.ids():
        if following > snapshot_id:
            with contextlib.suppress(SnapshotNotFound):  # expired meanwhile
                yield context.snapshots.read(following)


def _local_time(context: TableContext, snapshot: Snapshot) -> int | None:
    """Return the local time, in milliseconds, that decides to which period a snapshot belongs.

    The result is the commit time or the watermark, as option ``tag.automatic-creation`` states; None for a snapshot
    without the watermark.
    """
    options = context.options
    if options["tag.automatic-creation"] == "process-time":
        return _wall_millis(snapshot.time_millis, options["sink.process-time-zone"])
    if snapshot.watermark in (None, _NO_WATERMARK):
        return None
    assert snapshot.watermark is not None
    return _wall_millis(snapshot.watermark, options["sink.watermark-time-zone"])


def _wall_millis(epoch_millis: int, zone: datetime.tzinfo | None) -> int:
    """Return the local time in milliseconds in a time zone (None: the time zone of this process)."""
    instant = EPOCH.replace(tzinfo=datetime.UTC) + epoch_millis * MILLISECOND
    return (instant.astimezone(zone).replace(tzinfo=None) - EPOCH) // MILLISECOND

"""Automatic tags: name the state at the end of each period, or after each batch write (format 15.1).

By period: every snapshot after that of the last automatic tag is looked at in its order, and the first whose time has
passed the end of the next period (and the delay) gets the tag of the period that ended before it; with completion, of
the next period that has none. Nothing is remembered between calls but the tags, so that any process may go on, after a
crash too. As Java does it, so that both call the same snapshot by the same name.
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
from paimon_core.metadata.tag_periods import BY_PERIOD, EPOCH, MILLISECOND, Periods, check_tag_options

BATCH_PREFIX = "batch-write-"
_NO_WATERMARK = -(2**63)


def create_due_tags(context: TableContext, snapshot: Snapshot | None = None) -> list[Tag]:
    """Make the tags that are due; those made. ``snapshot`` is what a batch has written, default the latest.

    Raises InvalidRequest for a delay that is as long as the period.
    """
    mode = context.options["tag.automatic-creation"]
    if mode == "batch":
        latest = snapshot or context.snapshots.latest()
        return [] if latest is None else [_batch_tag(context, latest)]
    return _period_tags(context) if mode in BY_PERIOD else []


def create_and_expire_tags(context: TableContext, snapshot: Snapshot) -> None:
    """What a commit does for tags: make the due ones, then drop those whose time is over."""
    create_due_tags(context, snapshot)
    if context.options["tag.time-expire-enabled"]:
        expire_tags(context, clock.now_millis())


def _period_tags(context: TableContext) -> list[Tag]:
    options, periods = context.options, Periods.of(context.options)
    check_tag_options(options)
    delay = options["tag.creation-delay"]
    last = _last_automatic(context, periods)
    due = None if last is None else _start(periods, last.name) + periods.millis
    made = []
    for snapshot in _after(context, 0 if last is None else last.snapshot.id):
        at = _local_time(context, snapshot)
        if at is None or (due is not None and at - delay < due + periods.millis):
            continue
        start = due if due is not None and options["tag.automatic-completion"] else periods.ended(at)
        with contextlib.suppress(AlreadyExists, SnapshotNotFound):  # another process was faster, the maker or an expiry
            made.append(create_tag(context, periods.name(start), snapshot, options["tag.default-time-retained"]))
        due = start + periods.millis
        _drop_surplus(context, [t for t in context.tags.list() if periods.start(t.name) is not None])
    return made


def _batch_tag(context: TableContext, snapshot: Snapshot) -> Tag:
    """The tag of a batch write, made or moved."""
    name = context.options["tag.batch.customized-name"]
    if name is None:
        moment = EPOCH + (_wall_millis(snapshot.time_millis, context.options["sink.process-time-zone"]) * MILLISECOND)
        name = f"{BATCH_PREFIX}{moment:%Y-%m-%d}"
    retained = context.options["tag.default-time-retained"]
    try:
        tag = create_tag(context, name, snapshot, retained)
    except AlreadyExists:
        tag = context.tags.read(name)
        if tag.snapshot.id < snapshot.id:  # a commit that is found again must not move the tag back
            tag = replace_tag(context, name, snapshot, retained)
    _drop_surplus(context, [t for t in context.tags.list() if t.name.startswith(BATCH_PREFIX)])
    return tag


def _drop_surplus(context: TableContext, automatic: list[Tag]) -> None:
    """The oldest automatic tags beyond option ``tag.num-retained-max``; others are not counted and never go."""
    most = context.options["tag.num-retained-max"]
    if most is None:
        return
    for tag in sorted(automatic, key=lambda t: (t.snapshot.id, t.name))[: max(len(automatic) - most, 0)]:
        with contextlib.suppress(TagNotFound):
            delete_tag(context, tag.name)


def _last_automatic(context: TableContext, periods: Periods) -> Tag | None:
    """The automatic tag of the last period; reads that one tag only."""
    while True:
        names = [(start, name) for name in context.tags.names() if (start := periods.start(name)) is not None]
        if not names:
            return None
        with contextlib.suppress(TagNotFound):  # deleted meanwhile: look again
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
    """The wall-clock milliseconds by which a snapshot is tagged; None for one that has no watermark yet."""
    options = context.options
    if options["tag.automatic-creation"] == "process-time":
        return _wall_millis(snapshot.time_millis, options["sink.process-time-zone"])
    if snapshot.watermark in (None, _NO_WATERMARK):
        return None
    assert snapshot.watermark is not None
    return _wall_millis(snapshot.watermark, options["sink.watermark-time-zone"])


def _wall_millis(epoch_millis: int, zone: datetime.tzinfo | None) -> int:
    """What a clock of the zone (None: of this process) shows at an instant."""
    instant = EPOCH.replace(tzinfo=datetime.UTC) + epoch_millis * MILLISECOND
    return (instant.astimezone(zone).replace(tzinfo=None) - EPOCH) // MILLISECOND

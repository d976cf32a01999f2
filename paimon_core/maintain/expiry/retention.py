"""Retention: selects the snapshots that may expire, by number and age, and finds the reason why the next snapshot is
protected.

See format 16.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from paimon_core.errors import InvalidRequest, SnapshotNotFound, UnsupportedFeature, shown
from paimon_core.maintain.planning.plan import Protected
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import CommitKind, Snapshot

_OBEYED = ("snapshot.", "changelog.", "consumer.", "partition.expiration")
"""Prefixes of the options that expiry reads: an option with such a prefix and an unsupported value must not be
ignored.
"""


@dataclass(frozen=True, slots=True)
class Retention:
    """The numbers and the age by which snapshots or changelogs expire.

    The newest ``retain_min`` snapshots are kept, and all except the newest ``retain_max`` expire. The snapshots between
    these numbers expire by age, which is compared with ``older_than_millis`` (epoch milliseconds). At most ``limit``
    snapshots expire in one run; 0 means that nothing expires.
    """

    retain_min: int
    retain_max: int
    older_than_millis: int
    limit: int

    def check(self) -> None:
        """Raise InvalidRequest for a value out of range; the text names the argument and the option."""
        for value, name, least in (
            (self.retain_min, "keep_last", 1),
            (self.retain_max, "keep_max", 1),
            (self.limit, "limit", 0),
        ):
            if value < least:
                raise InvalidRequest(f"{_PUBLIC[name]} must be {least} or more, not {shown(value)}", bound=name)
        if self.retain_max < self.retain_min:
            raise InvalidRequest(
                f"{_PUBLIC['keep_max']} is {shown(self.retain_max)}, less than {_PUBLIC['keep_last']}, "
                f"{shown(self.retain_min)}",
                bound="keep_max",
            )


_PUBLIC = {
    "keep_last": "keep_last (option *.num-retained.min)",
    "keep_max": "keep_max (option *.num-retained.max)",
    "limit": "limit (option snapshot.expire.limit)",
}
"""For each field of Retention, its two names in error texts: the name of the public argument and the name of the table
option.
"""


@dataclass(frozen=True, slots=True)
class Bound:
    """A reason why no snapshot or changelog with id ``first`` or a higher id may expire; ``by`` names the reason."""

    first: int
    by: str


@dataclass(frozen=True)
class ExpirySelection:
    """The snapshots to expire, and the first snapshot to keep.

    ``protected`` states why the first snapshot to keep is protected, if it is old enough to expire.
    """

    expired: tuple[Snapshot, ...] = ()
    first_kept: Snapshot | None = None
    protected: tuple[Protected, ...] = ()


def bounds(context: TableContext, retention: Retention, ids: Sequence[int], *, consumers: bool) -> list[Bound]:
    """Return the bounds that ``retention`` and (if ``consumers``) the consumers set on the ascending ``ids``.

    Raises CorruptTable for a consumer file that cannot be parsed.
    """
    found = [
        Bound(ids[-1] - retention.retain_min + 1, f"the least number to retain, {retention.retain_min}"),
        Bound(ids[0] + retention.limit, limit_text(retention.limit)),
    ]
    if consumers:
        found += [Bound(_needed(context, c.next_snapshot), f"consumer {c.name}") for c in context.consumers.list()]
    return found


def _needed(context: TableContext, next_snapshot: int) -> int:
    """Return the id of the first snapshot that a consumer needs.

    The consumer needs its next snapshot. If this snapshot is an overwrite, the consumer also needs the snapshot before
    it, because the changes are computed from both snapshots.
    """
    try:
        is_overwrite = context.snapshots.read(next_snapshot).commit_kind is CommitKind.OVERWRITE
    except SnapshotNotFound:
        return next_snapshot
    return max(1, next_snapshot - is_overwrite)


def choose_snapshots(
    context: TableContext, retention: Retention, ids: Sequence[int], limits: Iterable[Bound], newest: int
) -> ExpirySelection:
    """Choose the snapshots to expire.

    A snapshot is old enough when its successor was committed before ``older_than_millis``: the snapshot was no longer
    the latest at that time. ``ids`` may have gaps, and snapshots that are deleted during the call are skipped. The
    expired snapshots and at most two more are read. ``newest`` is the id from which the newest snapshots are counted.
    """
    limits = list(limits)
    ceiling, forced_below = min(b.first for b in limits), newest - retention.retain_max + 1
    expired: list[Snapshot] = []
    current: Snapshot | None = None
    protected: tuple[Protected, ...] = ()
    for snapshot_id in ids:
        try:
            following = context.snapshots.read(snapshot_id)
        except SnapshotNotFound:
            continue
        if current is not None:
            young = following.time_millis >= retention.older_than_millis and current.id >= forced_below
            if current.id >= ceiling and not young:
                protected = _protections("snapshot", current.id, limits)
            if current.id >= ceiling or young:
                break
            expired.append(current)
        current = following
    return ExpirySelection(tuple(expired), current, protected)


def choose_changelogs(
    read: Callable[[int], Snapshot], retention: Retention, ids: Sequence[int], limits: Iterable[Bound], newest: int
) -> ExpirySelection:
    """Choose the changelogs to expire by number and age, as ``retention`` states; keep the newest one (format 16.2).

    ``read`` returns a changelog by id, or raises SnapshotNotFound.
    """
    limits = list(limits)
    ceiling, forced_below = min(b.first for b in limits), newest - retention.retain_max + 1
    expired: list[Snapshot] = []
    for changelog_id in ids:
        try:
            current = read(changelog_id)
        except SnapshotNotFound:
            continue
        young = current.time_millis >= retention.older_than_millis and current.id >= forced_below
        if young or current.id >= ceiling or current.id == ids[-1]:
            old_enough = not young and current.id >= ceiling
            protected = _protections("changelog", current.id, limits) if old_enough else ()
            return ExpirySelection(tuple(expired), current, protected)
        expired.append(current)
    return ExpirySelection()


def limit_text(limit: int) -> str:
    """Return the text that states ``limit`` as the reason why no more snapshots expire in this run."""
    return f"the limit of one run, {limit}: run it again" if limit else "the limit, 0: nothing expires"


def _protections(kind: str, first: int, limits: Iterable[Bound]) -> tuple[Protected, ...]:
    """Return one protection for each bound that keeps ``first``, the lowest id that does not expire."""
    return tuple(Protected(f"{kind} {first} and later ones", b.by) for b in limits if b.first <= first)


def refuse_unread_options(context: TableContext) -> None:
    """Raise UnsupportedFeature when the table has an expiry option with a value that is not supported."""
    for option in context.options.unwritable:
        if option.startswith(_OBEYED):
            raise UnsupportedFeature(
                f"table {context.name}: option {option!r} controls what expires, and its value is not supported: "
                "nothing is deleted",
                table=context.name,
                option=option,
            )

"""Retention: which of the oldest snapshots may go by number and age, and what holds the others (format 16.1)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from paimon_core.errors import InvalidRequest, SnapshotNotFound, UnsupportedFeature
from paimon_core.maintain.planning.plan import Protected
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.snapshot import Snapshot

_OBEYED = ("snapshot.", "changelog.", "consumer.", "partition.expiration")
"""Option groups that expiry reads: one of them that does not parse must not be passed over."""


@dataclass(frozen=True, slots=True)
class Retention:
    """The newest ``retain_min`` stay, all beyond ``retain_max`` go, between the two what is old enough.

    ``older_than_millis``: epoch time before which something is old; ``limit``: how many go at once, 0 none.
    """

    retain_min: int
    retain_max: int
    older_than_millis: int
    limit: int

    def check(self) -> None:
        """Raises InvalidRequest for bounds that make no sense, naming the argument and the option."""
        for value, name, least in (
            (self.retain_min, "keep_last", 1),
            (self.retain_max, "keep_max", 1),
            (self.limit, "limit", 0),
        ):
            if value < least:
                raise InvalidRequest(f"{_PUBLIC[name]} must be {least} or more, not {value}", bound=name)
        if self.retain_max < self.retain_min:
            raise InvalidRequest(
                f"{_PUBLIC['keep_max']} is {self.retain_max}, less than {_PUBLIC['keep_last']}, {self.retain_min}",
                bound="keep_max",
            )


_PUBLIC = {
    "keep_last": "keep_last (option *.num-retained.min)",
    "keep_max": "keep_max (option *.num-retained.max)",
    "limit": "limit (option snapshot.expire.limit)",
}
"""How a caller, or the options of a table, name a bound."""


@dataclass(frozen=True, slots=True)
class Bound:
    """Nothing from id ``first`` on may go, because of ``by``."""

    first: int
    by: str


@dataclass(frozen=True)
class Chosen:
    """The snapshots to expire, the first one to keep, and what held that one although it was old enough."""

    expired: tuple[Snapshot, ...] = ()
    first_kept: Snapshot | None = None
    protected: tuple[Protected, ...] = ()


def bounds(context: TableContext, retention: Retention, ids: Sequence[int], *, consumers: bool) -> list[Bound]:
    """What holds snapshots of these ids, by number and by readers; raises CorruptTable for a bad consumer file."""
    found = [
        Bound(ids[-1] - retention.retain_min + 1, f"the least number to retain, {retention.retain_min}"),
        Bound(ids[0] + retention.limit, _limit(retention.limit)),
    ]
    if consumers:
        found += [Bound(c.next_snapshot, f"consumer {c.name}") for c in context.consumers.list()]
    return found


def choose_snapshots(
    context: TableContext, retention: Retention, ids: Sequence[int], held: Iterable[Bound], newest: int
) -> Chosen:
    """A snapshot goes when the one after it was committed long ago: it was not the latest at that time any more.

    ``ids`` may have gaps, and snapshots may vanish meanwhile; no more are read than go, and two. ``newest`` is the id
    that the numbers count from.
    """
    held = list(held)
    ceiling, forced_below = min(b.first for b in held), newest - retention.retain_max + 1
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
                protected = _holders("snapshot", current.id, held)
            if current.id >= ceiling or young:
                break
            expired.append(current)
        current = following
    return Chosen(tuple(expired), current, protected)


def choose_changelogs(
    context: TableContext, retention: Retention, ids: Sequence[int], held: Iterable[Bound], newest: int
) -> Chosen:
    """A changelog goes when it was committed long ago itself; the newest of ``ids`` always stays (format 16.2)."""
    held = list(held)
    ceiling, forced_below = min(b.first for b in held), newest - retention.retain_max + 1
    expired: list[Snapshot] = []
    for changelog_id in ids:
        try:
            current = context.changelogs.read(changelog_id)
        except SnapshotNotFound:
            continue
        young = current.time_millis >= retention.older_than_millis and current.id >= forced_below
        if young or current.id >= ceiling or current.id == ids[-1]:
            old_enough = not young and current.id >= ceiling
            return Chosen(tuple(expired), current, _holders("changelog", current.id, held) if old_enough else ())
        expired.append(current)
    return Chosen()


def _limit(limit: int) -> str:
    return f"the limit of one run, {limit}: run it again" if limit else "the limit, 0: nothing expires"


def _holders(kind: str, first: int, held: Iterable[Bound]) -> tuple[Protected, ...]:
    """Everything that holds the first one kept."""
    return tuple(Protected(f"{kind} {first} and those after it", b.by) for b in held if b.first <= first)


def refuse_unread_options(context: TableContext) -> None:
    """Raises UnsupportedFeature for an option of expiry that the table carries and that is not obeyed here."""
    for option in context.options.unwritable:
        if option.startswith(_OBEYED):
            raise UnsupportedFeature(
                f"table {context.name}: option {option!r} says what expires, and its value is not supported: "
                "nothing is deleted",
                table=context.name,
                option=option,
            )

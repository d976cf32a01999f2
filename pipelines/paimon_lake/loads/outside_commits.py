"""Outside commits: finds the commits of a table that no run of Dagster made, each once, from where the last look ended.

A look remembers its place: which table it was, and the newest snapshots that it saw. A snapshot is recognized by the
name of its delta manifest list, which is unique for each attempt of a commit of any engine.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from paimon_core.codec.binary_row.rows import decode_row
from paimon_core.errors import SnapshotNotFound
from paimon_core.metadata.snapshot import CommitKind, Snapshot
from paimon_core.table.table import Table
from paimon_lake.declarations import TableSpec
from paimon_lake.loads.ledger.load_properties import PARTITIONS, is_load_user
from paimon_lake.loads.ledger.load_snapshot import CARRIED, STEP
from paimon_lake.loads.partitions.partition_keys import keys_of_values

RUN_ID = "dagster.run-id"
"""The snapshot property with the run of Dagster that made a commit; commits with this property are never outside."""
REMEMBERED = 10
"""After a rollback of more snapshots than these, all snapshots that exist are looked at again."""
MOST_SNAPSHOTS = 500
"""A look reads at most this many snapshots; the next look continues."""


@dataclass(frozen=True)
class Place:
    """Where a look ended: the identity of the table, the newest snapshots that were seen as (id, digest), oldest first,
    and the number of partitions of the next commit that were already told.
    """

    table: str = ""
    seen: tuple[tuple[int, str], ...] = ()
    told: int = 0

    def after(self, snapshot: Snapshot) -> Place:
        """Return the place right after a snapshot."""
        return replace(self, seen=(*self.seen, (snapshot.id, _digest(snapshot)))[-REMEMBERED:], told=0)

    def to_json(self) -> list[Any]:
        """Return the place as a JSON value."""
        return [self.table, [list(one) for one in self.seen], self.told]

    @staticmethod
    def from_json(value: Any) -> Place:
        """Return the place of a JSON value; a value of another form is the place before the first look."""
        try:
            table, seen, told = value
            return Place(str(table), tuple((int(number), str(text)) for number, text in seen), int(told))
        except (TypeError, ValueError):
            return Place()


@dataclass(frozen=True)
class Look:
    """What one look at a table begins with: its place, the ids of the snapshots to read, and what the user must know.

    The snapshots may include some that earlier looks have told, after a rollback or when the place is new.
    """

    place: Place
    first: int
    last: int
    notes: tuple[str, ...] = ()
    missed: int = 0
    """The number of snapshots that expired before they were seen."""

    def snapshots(self, table: Table) -> Iterator[Snapshot]:
        """Yield the snapshots to read; those that expire during the look are left out."""
        for number in range(self.first, self.last + 1):
            try:
                yield table.context.snapshots.read(number)
            except SnapshotNotFound:
                continue


def look(table: Table, place: Place) -> Look | None:
    """Return the look at the commits of a table after ``place``; None when there are none.

    Raises PaimonError for metadata that cannot be read.
    """
    latest = table.latest_snapshot()
    if latest is None:
        return None if not place.seen else Look(Place(), 1, 0, ("all of its snapshots are gone",))
    if place.seen and place.seen[-1] == (latest.id, _digest(latest)):
        return None
    first, identity = table.context.snapshots.earliest_id() or latest.id, identity_of(table)
    last = latest.id
    if not place.table:
        return _bounded(Look(Place(identity), first, last))
    if place.table != identity:
        note = "the table was dropped and created again since the last look: all of its commits are new"
        return _bounded(Look(Place(identity), first, last, (note,)))
    rolled_back = False
    for count, (number, digest) in reversed(list(enumerate(place.seen, 1))):
        kept = replace(place, seen=place.seen[:count], told=0 if rolled_back else place.told)
        notes = (f"it was rolled back to snapshot {number} since the last look",) if rolled_back else ()
        if number < first:
            missed = first - number - 1
            gone = (f"snapshots {number + 1} to {first - 1} expired before they were seen",) if missed else ()
            return _bounded(Look(kept, first, last, (*notes, *gone), missed))
        if number <= last and _is_there(table, number, digest):
            return _bounded(Look(kept, number + 1, last, notes))
        rolled_back = True
    note = f"it was rolled back below snapshot {place.seen[0][0]} since the last look" if place.seen else ""
    return _bounded(Look(Place(identity), first, last, (note,) if note else ()))


def _bounded(found: Look) -> Look:
    return replace(found, last=min(found.last, found.first + MOST_SNAPSHOTS - 1))


def _is_there(table: Table, number: int, digest: str) -> bool:
    try:
        return _digest(table.context.snapshots.read(number)) == digest
    except SnapshotNotFound:
        return False


def identity_of(table: Table) -> str:
    """Return a digest of the first schema of a table, which has the time of its creation."""
    schemas = table.context.schemas
    first = schemas.read(min(schemas.ids(), default=table.schema.id))
    columns = [(field.id, field.name, str(field.type)) for field in first.fields]
    return _hash(json.dumps([first.time_millis, columns]))


def _digest(snapshot: Snapshot) -> str:
    return _hash(snapshot.delta_manifest_list)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def is_outside(table: Table, snapshot: Snapshot) -> bool:
    """Whether a snapshot is a commit of rows that no run of Dagster made.

    A load counts even when it wrote no row. Compactions, statistics, copies of the ledger and commits without a file do
    not count.
    """
    properties = snapshot.properties or {}
    if snapshot.commit_kind not in (CommitKind.APPEND, CommitKind.OVERWRITE) or RUN_ID in properties:
        return False
    if properties.get(STEP) == CARRIED:
        return False
    if is_load_user(snapshot.commit_user, table.name):
        return True
    manifests = table.context.manifests
    with manifests.reading(snapshot):
        return bool(manifests.read_list(snapshot.delta_manifest_list, snapshot.delta_manifest_list_size))


def keys_of(spec: TableSpec, table: Table, snapshot: Snapshot) -> tuple[list[str] | None, str]:
    """Return the keys of the declared partitions that a commit wrote, sorted; or None, and why they are not known."""
    if spec.partitions is None:
        return None, ""
    recorded = _recorded(snapshot.properties or {}) if is_load_user(snapshot.commit_user, table.name) else None
    if recorded is not None:
        return recorded, ""
    column, schema = spec.partitions.column, table.schema
    if column not in schema.partition_keys:
        return None, f"{column or 'the partition'} is not in partition_by, so the commit does not say its partitions"
    at, types = schema.partition_keys.index(column), [field.type for field in schema.partition_fields]
    values = pa.array(
        [decode_row(partition, types)[at] for partition in _written(table, snapshot)], types[at].to_arrow()
    )
    return sorted(keys_of_values(values, types[at].root, spec, spec.partitions, None)), ""


def _recorded(properties: Mapping[str, str]) -> list[str] | None:
    try:
        keys = json.loads(properties[PARTITIONS])
    except (KeyError, ValueError):  # a load of the whole table, or a damaged property, which the check ``rows`` reports
        return None
    return sorted(map(str, keys)) if isinstance(keys, list) else None


def _written(table: Table, snapshot: Snapshot) -> Sequence[bytes]:
    """Return the partitions of the files that a snapshot added or removed."""
    manifests = table.context.manifests
    with manifests.reading(snapshot):
        listed = manifests.read_list(snapshot.delta_manifest_list, snapshot.delta_manifest_list_size)
        return sorted({e.partition for m in listed for e in manifests.read_manifest(m.file_name, m.file_size)})

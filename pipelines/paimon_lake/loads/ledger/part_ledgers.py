"""Part ledgers: copy the ledgers of all parts of a table into one snapshot, before snapshots of their loads expire.

Each part has a ledger of its own, by the commit user of its loads. A tag or an expiry may keep a single snapshot, so
one snapshot must have the entries of all parts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence

import pyarrow as pa

from paimon_core.commit.read_set import Reads
from paimon_core.errors import CommitConflict, InvalidRequest, ReadOutdated
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.table.commit_request import CommitRequest
from paimon_core.table.table import Table
from paimon_lake.loads.ledger.ledger import carry_on, carry_to, entries_of, ledger_of, needed_copy, not_carried
from paimon_lake.loads.ledger.load_properties import is_load_user, load_user, part_of
from paimon_lake.loads.ledger.load_snapshot import CARRIED, PARTS, STEP, events_in
from paimon_lake.protocol import PipelineError

_TRIES = 5


def carry_all_on(table: Table, parts: Sequence[str], expiring: Collection[int], *, begin: bool) -> Snapshot | None:
    """Commit an empty snapshot with the entries that would expire, as ``carry_on`` does; None if no entry would expire.

    ``parts`` are the load names of the declared parts of the table; () for a table without parts.
    """
    if not parts:
        return carry_on(table, expiring, begin=begin)
    return _carry(table, parts, lambda number: number not in expiring, begin)


def carry_all_to(table: Table, parts: Sequence[str], snapshot_id: int, *, begin: bool) -> Snapshot | None:
    """Commit an empty snapshot with all entries, as ``carry_to`` does, unless ``snapshot_id`` has all entries."""
    if not parts:
        return carry_to(table, snapshot_id, begin=begin)
    return _carry(table, parts, lambda number: number == snapshot_id, begin)


def _carry(table: Table, parts: Sequence[str], stays: Callable[[int], bool], begin: bool) -> Snapshot | None:
    """Commit the copy directly after the snapshot that was listed last; list again after a concurrent commit.

    If a load was committed after ``listed``, a copy without this load would restore the older ledger of its part.
    """
    for _ in range(_TRIES):
        listed, found = table.latest_snapshot(), table.inspect.snapshots()
        if not found.num_rows:
            return None
        known = dict.fromkeys([*parts, *recorded_parts(table.name, found)])
        if all(needed_copy(table, part, found, stays, begin) is None for part in known):
            return None
        if listed is None or listed.id != found["snapshot_id"][-1].as_py():
            continue
        try:
            snapshot = _commit_copy(table, known, found, listed)
        except ReadOutdated:
            continue
        except InvalidRequest:
            if table.latest_snapshot() == listed:
                raise
            continue
        if snapshot is None:
            raise not_carried(table)
        if snapshot.id == listed.id + 1:
            return snapshot
    raise CommitConflict(f"{table.name}: other commits came {_TRIES} times before the entries could be carried on")


def _commit_copy(table: Table, parts: Collection[str], found: pa.Table, listed: Snapshot) -> Snapshot | None:
    """Commit the ledgers of ``parts`` in the snapshots ``found``, of which ``listed`` is the last.

    Raises ReadOutdated when ``listed`` is not the latest snapshot any more.
    """
    entries = {}
    for part in parts:
        ledger = ledger_of(part, events_in(found, part), found["snapshot_id"][0].as_py())
        entries[part] = {"number": ledger.number, "properties": entries_of(ledger)}
    properties = {STEP: CARRIED, PARTS: json.dumps(entries)}
    request = CommitRequest.of(table.context, load_user(table.name), listed.id + 1, properties)
    snapshot = request.commit([], reads=Reads(listed, lambda partition: True, any_commit=True))
    return None if snapshot is None else table.settle(snapshot)


def recorded_parts(table: str, found: pa.Table) -> list[str]:
    """Return the load names of all parts that snapshots record, including parts that are not declared any more.

    Raises PipelineError for a damaged property.
    """
    users = [user for user in found["commit_user"].unique().to_pylist() if is_load_user(user, table) and part_of(user)]
    names = dict.fromkeys(user.removeprefix(load_user("")) for user in sorted(users))
    for listed in found["properties"].to_pylist():
        try:
            names |= dict.fromkeys(json.loads(dict(listed or ()).get(PARTS, "{}")))
        except (ValueError, TypeError):
            raise PipelineError(f"{table}: the property {PARTS} of a snapshot is damaged") from None
    return list(names)

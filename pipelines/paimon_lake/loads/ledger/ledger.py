"""The ledger: which files, rows or positions the loads of a table have loaded, read from the properties of its
snapshots.

Every load commits as the user ``load <table>`` with ascending identifiers. The properties of its snapshot record what
it loaded: files (a digest of path and version each), the version of its inputs, a watermark, or a position in the log
of a server. There is no other record, so a rollback removes entries together with their rows. An expiry would remove
entries whose rows stay: ``carry_on`` copies these entries to an empty snapshot first. A tag may outlive the snapshots
before it, so ``carry_to`` commits a snapshot with all entries, which can be tagged.

The ledger has a gap when the newest load states more loaded files (``files-total``) than the snapshots name. It also
has a gap when the table has rows, its snapshots do not begin with 1, and none of them is a load or a copy. Then the
loaded files and rows are unknown, and loads are refused, except a load of the whole table with ``reload``: its snapshot
makes the ledger complete.

A removal of missing data files (``remove-missing``) removes rows of loads from the table. Its snapshot records these
rows, and the ledger contains them as lost until they are loaded again, see ``paimon_lake.loads.ledger.lost``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from paimon_core.commit.read_set import Reads
from paimon_core.errors import CommitConflict, InvalidRequest, ReadOutdated
from paimon_core.metadata.commit_message import Position
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.table.commit_request import CommitRequest
from paimon_core.table.table import Table
from paimon_core.table.view import TableView
from paimon_lake.loads.inputs.input_loads import LOADED, InputLoad, LoadedPartitions
from paimon_lake.loads.ledger.load_properties import load_command, load_user, part_of
from paimon_lake.loads.ledger.load_snapshot import (
    ALL,
    CARRIED,
    CONTENTS,
    INPUTS,
    KEYS,
    LOST,
    PARTS,
    POSITION,
    STEP,
    TOTAL,
    WATERMARK,
    Event,
    LoadSnapshot,
    events_in,
    loads_in,
    loads_of,
    only_loads,
)
from paimon_lake.loads.ledger.loaded_files import VERSION_BYTES, LoadedFiles
from paimon_lake.loads.ledger.lost import NOTHING, Lost
from paimon_lake.protocol import PipelineError

MOST_KEYS = 10_000
"""A snapshot that copies the ledger has at most this many keys of loads, the newest keys."""
_TRIES = 5


@dataclass(frozen=True)
class Ledger:
    """The entries of the loads of one table, up to the newest load."""

    number: int = 0
    """The identifier of the newest load; 0 before the first load."""
    files: LoadedFiles = field(default_factory=LoadedFiles)
    keys: Mapping[str, int] = field(default_factory=dict)
    """The key of each load of inputs or of a run, with the snapshot that it committed."""
    inputs: Mapping[str, Position] = field(default_factory=dict)
    """For each input, the snapshot up to which the newest load has read its changes."""
    input_loads: Sequence[InputLoad] = ()
    """The loads from inputs, the oldest first: which snapshots each read, and which partitions it loaded and left
    stale."""
    watermark: object = None
    """The greatest value of the watermark column that was loaded."""
    position: object = None
    """The position in the log of a database server, or in the topics of Kafka, up to which changes were loaded."""
    total: int = 0
    """The number of loaded files, as the snapshot of the newest load states it."""
    gap: str = ""
    """One sentence that says which entries are missing; empty when the ledger is complete."""
    lost: Lost = NOTHING
    """Rows that were loaded, were removed because their data files were missing, and were not loaded again."""

    def repair(self, entries: Mapping[str, str]) -> dict[str, str]:
        """Return the properties with which a load with ``entries`` closes the gap; {} when the ledger has no gap."""
        if not self.gap:
            return {}
        return {ALL: self.files.to_text(), TOTAL: entries.get(TOTAL, str(len(self.files.versions)))}


def read_ledger(
    table: TableView, loaded: str = "", *, accept_gaps: bool = False, snapshots: pa.Table | None = None
) -> Ledger:
    """Read the ledger from the snapshots of a table; ``accept_gaps``: return an incomplete ledger instead of an error.

    ``loaded`` is the load name of the table (the default) or of a part of it. ``snapshots`` are the snapshots of the
    table, if the caller has just listed them. If there is a gap, the snapshots are listed again: a concurrent expiry
    may have copied entries into a new snapshot and deleted the old snapshots. Raises PipelineError when entries are
    damaged, or missing.
    """
    loaded = loaded or table.name
    ledger = _read(loaded, table.inspect.snapshots() if snapshots is None else snapshots)
    if ledger.gap:
        ledger = _read(loaded, table.inspect.snapshots())
    if ledger.gap and not accept_gaps:
        raise PipelineError(
            f"{ledger.gap}. Nothing is loaded, as it could be loaded twice: expire this table only with "
            "`paimon-lake expire` or the nightly job. To repair it, load the whole table with reload: "
            f"`{load_command(loaded)} --reload`; delete its rows before if its loads append"
        )
    return ledger


def loads_after(number: int, loaded: str, snapshots: pa.Table) -> Ledger:
    """Return a ledger that contains only the loads of ``loaded`` in ``snapshots`` whose number is greater than
    ``number``.
    """
    later = [load for load in loads_in(snapshots, loaded) if load.number > number]
    return ledger_of(loaded, later, 1)


def carry_on(table: Table, expiring: Collection[int], *, begin: bool = False) -> Snapshot | None:
    """Commit an empty snapshot with all entries, if only snapshots in ``expiring`` have some of the entries.

    ``begin``: also commit it if the table was never loaded and its first snapshot expires, so that the history still
    shows that nothing was loaded. Returns None when no snapshot is needed. A ledger with a gap still has the gap
    afterwards. When a concurrent load takes the number first, the entries are read again. Raises CommitConflict when
    that happens several times, PipelineError when entries are damaged, or when the table's options allow no empty
    snapshot.
    """
    return _carry(table, lambda number: number not in expiring, begin)


def carry_to(table: Table, snapshot_id: int, *, begin: bool = False) -> Snapshot | None:
    """Commit an empty snapshot as ``carry_on`` does, unless ``snapshot_id``, which will be tagged, has all entries."""
    return _carry(table, lambda number: number == snapshot_id, begin)


def _carry(table: Table, stays: Callable[[int], bool], begin: bool) -> Snapshot | None:
    for _ in range(_TRIES):
        listed, found = table.latest_snapshot(), table.inspect.snapshots()
        ledger = needed_copy(table, table.name, found, stays, begin)
        if ledger is None:
            return None
        if listed is None or listed.id != _last(found):  # there was a concurrent commit or rollback
            continue
        if (snapshot := commit_entries(table, ledger, listed=listed)) is not None:
            return snapshot
    raise CommitConflict(f"{table.name}: loads took the number {_TRIES} times before the entries could be carried on")


def needed_copy(table: Table, loaded: str, found: pa.Table, stays: Callable[[int], bool], begin: bool) -> Ledger | None:
    """Return the ledger of ``loaded`` if the snapshots that stay do not have all of its entries; None otherwise."""
    events = events_in(found, loaded)
    if not only_loads(events):
        begins = begin and _first(found) == 1 and not stays(1)
        if not begins or not table.options["commit.force-create-snapshot"]:
            return None
    kept = [event for event in events if stays(event.id)]
    ledger = ledger_of(loaded, events, _first(found) or 1)
    if only_loads(kept) and _same_entries(ledger, ledger_of(loaded, kept, kept[0].id)):
        return None
    return ledger


def entries_of(ledger: Ledger) -> dict[str, str]:
    """Return the properties of a snapshot that copies a ledger."""
    properties = {
        STEP: CARRIED,
        ALL: ledger.files.to_text(),
        CONTENTS: ledger.files.contents_text(),
        TOTAL: str(max(ledger.total, len(ledger.files.versions))),
        KEYS: json.dumps(_newest_keys(ledger)),
        INPUTS: json.dumps(ledger.inputs),
        WATERMARK: json.dumps(ledger.watermark),
        **({POSITION: json.dumps(ledger.position)} if ledger.position is not None else {}),
        **({LOST: ledger.lost.to_text()} if ledger.lost.seen else {}),
    }
    if ledger.input_loads:
        properties[LOADED] = json.dumps(LoadedPartitions.of(ledger.input_loads).to_json())
    return properties


def commit_entries(
    table: Table, ledger: Ledger, loaded: str = "", *, listed: Snapshot | None = None
) -> Snapshot | None:
    """Commit all entries of a ledger under the next number.

    ``listed`` is the last snapshot from which the ledger was read. Return None when a load took the number, or when the
    table was rolled back since ``listed``, because the ledger may then have entries of removed rows. Without
    ``listed``, a rollback before this call is detected only by the number of the newest load.
    """
    loaded, properties = loaded or table.name, entries_of(ledger)
    base = listed or table.latest_snapshot()
    if max((load.number for load in loads_of(table, loaded)), default=0) != ledger.number:
        return None
    request = CommitRequest.of(table.context, load_user(loaded), ledger.number + 1, properties)
    try:
        snapshot = request.committed_snapshot() or request.commit([], reads=Reads(base, lambda partition: False))
    except ReadOutdated:
        return None
    except InvalidRequest:
        if all(load.number <= ledger.number for load in loads_of(table, loaded)):
            raise
        return None
    if snapshot is None:
        raise not_carried(table)
    table.settle(snapshot)
    return snapshot if (snapshot.properties or {}).get(STEP) == CARRIED else None


def not_carried(table: Table) -> PipelineError:
    """Return the error for a table without the option that a snapshot without rows needs."""
    return PipelineError(
        f"{table.name}: the entries of its loads cannot be carried on, because the table does not have the option "
        "commit.force-create-snapshot = true"
    )


def _last(found: pa.Table) -> int | None:
    return found["snapshot_id"][-1].as_py() if found.num_rows else None


def _first(found: pa.Table) -> int | None:
    return found["snapshot_id"][0].as_py() if found.num_rows else None


def _read(loaded: str, found: pa.Table) -> Ledger:
    events, first = events_in(found, loaded), _first(found)
    loads, ledger = only_loads(events), ledger_of(loaded, events, first or 1)
    known = len(ledger.files.versions)
    if known < ledger.total:
        named = f"its snapshots name {known:,} of {ledger.total:,} loaded files"
        gap = (
            f"{named}: another program expired snapshots of loads, or a rollback removed the snapshot in which an "
            "expiry kept what they say"
        )
    elif (
        not (loads or (part_of(loaded) and _copies_parts(found)))
        and first not in (None, 1)
        and found["total_record_count"][-1].as_py() != 0
    ):
        gap = f"its snapshots before {first} expired, and no snapshot that is left says what was loaded"
    else:
        return ledger
    return replace(ledger, gap=f"{loaded}: {gap}")


def _copies_parts(found: pa.Table) -> bool:
    """Whether a snapshot copies the ledgers of all parts; if so, a part without entries was never loaded."""
    return any(PARTS in dict(listed or ()) for listed in found["properties"].to_pylist())


def ledger_of(table: str, events: Sequence[Event], oldest: int) -> Ledger:
    """Return the ledger of the ``events``; ``oldest``: the first snapshot of the table that has not expired."""
    loads = only_loads(events)
    versions: dict[bytes, bytes] = {}
    contents: dict[bytes, bytes] = {}
    keys: dict[str, int] = {}
    inputs: Mapping[str, Position] = {}
    watermark: object = None
    position: object = None
    input_loads: list[InputLoad] = []
    total = 0
    for load in loads:
        files = load.files(table)
        versions.update(files.versions)
        contents.update(files.contents)
        for key, number in load.keys(table).items():
            keys.pop(key, None)  # keeps keys in the order of their newest loads
            keys[key] = number
        inputs = load.inputs(table) or inputs
        input_loads += [one] if (one := load.input_load(table)) is not None else []
        watermark = load.json(WATERMARK, table) if WATERMARK in load.properties else watermark
        position = load.json(POSITION, table)  # None after a load of another source
        recorded = load.total(table)
        total = total if recorded is None else recorded
    # a later load by an older program records a new version of a file without its content: drop the old content
    known = {path: found for path, found in contents.items() if found[:VERSION_BYTES] == versions.get(path)}
    files, lost = LoadedFiles(versions, known), _lost(table, events, oldest)
    number = loads[-1].number if loads else 0
    return Ledger(number, files, keys, inputs, tuple(input_loads), watermark, position, total, lost=lost)


def _lost(table: str, events: Sequence[Event], oldest: int) -> Lost:
    lost = NOTHING
    for at, event in enumerate(events):
        if isinstance(event, LoadSnapshot):
            lost = event.lost(lost, table)
        else:
            before = {load.id: load.own_files(table) for load in only_loads(events[:at])}
            lost = lost.with_removal(event.id, event.loss(table), before, oldest)
    return lost


def _newest_keys(ledger: Ledger) -> dict[str, int]:
    return dict(list(ledger.keys.items())[-MOST_KEYS:])


def _same_entries(one: Ledger, other: Ledger) -> bool:
    def entries(ledger: Ledger) -> tuple[object, ...]:
        loaded = LoadedPartitions.of(ledger.input_loads).to_json()
        of_files = ledger.files, ledger.total, ledger.lost
        return *of_files, ledger.inputs, loaded, ledger.watermark, ledger.position, _newest_keys(ledger)

    return entries(one) == entries(other)

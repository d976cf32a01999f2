"""The ledger: what the loads of a table have loaded, read from the properties of its snapshots.

Every load commits as the user ``load <table>`` with ascending identifiers, and its snapshot says what it loaded: files
(a digest of path and version each), the version of its inputs, or a watermark. There is no other record, so a rollback
removes entries together with their rows. An expiry would remove entries whose rows stay: ``carry_on`` repeats them in
an empty snapshot before. A tag may outlive the snapshots before it, so ``carry_to`` commits one that has all entries,
which can be tagged.

The ledger has a gap when ``files-total``, which counts all entries, is greater than their number, or when the table has
rows, its snapshots do not begin with 1, and none of them is a load or carried on. Then it is unknown what was loaded:
nothing is, until a load of the whole table with ``reload`` accepts the gap; its snapshot makes the ledger complete.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.errors import CommitConflict, InvalidRequest
from paimon_core.metadata.commit_message import Position
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.table.table import Table
from pipelines.load_properties import load_user
from pipelines.protocol import PipelineError

FILES, TOTAL, ALL = "pipeline.files", "pipeline.files-total", "pipeline.files-all"
KEY, INPUTS, WATERMARK, ATTEMPT = "pipeline.key", "pipeline.inputs", "pipeline.watermark", "pipeline.attempt"
KEYS = "pipeline.keys-all"
STEP = "pipeline.step"
CARRIED = "carry-on"
"""The step of a snapshot that carries entries on."""
MOST_FILES = 500_000
"""The largest number of files of one table: the digests of all are carried on in one snapshot, 16 bytes each."""
MOST_KEYS = 10_000
"""The largest number of keys that one snapshot carries on, the newest."""
_TRIES = 5
_PATH, _VERSION = 8, 4
"""The bytes of the two digests of a file."""
_MOST_DIGITS = 19


@dataclass(frozen=True)
class LoadedFiles:
    """The files that loads have loaded: digest of the path to digest of the version."""

    versions: Mapping[bytes, bytes] = field(default_factory=dict)

    def state(self, path: str, version: str) -> str:
        """Return ``new``, ``loaded``, or ``changed`` for a file that was loaded with another version."""
        found = self.versions.get(digest(path, _PATH))
        if found is None:
            return "new"
        return "loaded" if found == digest(version, _VERSION) else "changed"

    def with_files(self, files: Iterable[tuple[str, str]]) -> LoadedFiles:
        """Return these and other files, given as (path, version)."""
        return LoadedFiles({**self.versions, **{digest(p, _PATH): digest(v, _VERSION) for p, v in files}})

    def to_text(self) -> str:
        """Return the text of a snapshot property."""
        return base64.b64encode(b"".join(p + v for p, v in sorted(self.versions.items()))).decode()

    @staticmethod
    def from_text(text: str) -> LoadedFiles:
        """Return the files of a snapshot property; raises ValueError for another text."""
        data = base64.b64decode(text, validate=True)
        size = _PATH + _VERSION
        if len(data) % size:
            raise ValueError(f"{len(data)} bytes are no whole number of entries")
        entries = (data[at : at + size] for at in range(0, len(data), size))
        return LoadedFiles({entry[:_PATH]: entry[_PATH:] for entry in entries})


@dataclass(frozen=True)
class Ledger:
    """What the loads of one table have loaded, as of its newest load."""

    number: int = 0
    """The identifier of the newest load; 0 before the first one."""
    files: LoadedFiles = LoadedFiles()
    keys: Mapping[str, int] = field(default_factory=dict)
    """The key of each load of inputs or of a run, with the snapshot that it committed."""
    inputs: Mapping[str, Position] = field(default_factory=dict)
    """The snapshots of the inputs that the newest load of changes had read to."""
    watermark: object = None
    """The greatest value of the watermark column that was loaded."""
    total: int = 0
    """The number of files that the newest load says were loaded."""
    gap: str = ""
    """One sentence that says which entries are missing; empty when the ledger is complete."""

    def repair(self, entries: Mapping[str, str]) -> dict[str, str]:
        """Return the properties that make the ledger complete, for a load with ``entries``; {} for one without gap."""
        if not self.gap:
            return {}
        return {ALL: self.files.to_text(), TOTAL: entries.get(TOTAL, str(len(self.files.versions)))}


def digest(text: str, size: int) -> bytes:
    """Return the first bytes of the SHA-256 of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest()[:size]


@dataclass(frozen=True)
class LoadSnapshot:
    """A snapshot that a load committed: its id, the number of the load, and its properties."""

    id: int
    number: int
    properties: Mapping[str, str]

    def json(self, name: str, table: str) -> Any:
        """Return a property that is JSON, None when it is missing; raises PipelineError for another text."""
        text = self.properties.get(name)
        try:
            return None if text is None else json.loads(text)
        except ValueError:
            raise _damaged(table, self, name) from None

    def files(self, table: str) -> LoadedFiles:
        """Return the files that this snapshot names; raises PipelineError when the property is damaged."""
        loaded: dict[bytes, bytes] = {}
        for name in (ALL, FILES):
            try:
                loaded.update(LoadedFiles.from_text(self.properties.get(name, "")).versions)
            except ValueError:
                raise _damaged(table, self, name) from None
        return LoadedFiles(loaded)

    def total(self, table: str) -> int | None:
        """Return the number of files that were loaded, None without; raises PipelineError when it is damaged."""
        text = self.properties.get(TOTAL)
        if text is not None and not (text.isascii() and text.isdigit() and len(text) < _MOST_DIGITS):
            raise _damaged(table, self, TOTAL)
        return None if text is None else int(text)

    def keys(self, table: str) -> Mapping[str, int]:
        """Return the keys of loads that this snapshot names; raises PipelineError when a property is damaged."""
        carried = self.json(KEYS, table)
        if carried is None:
            carried = {}
        if not isinstance(carried, dict) or any(type(number) is not int for number in carried.values()):
            raise _damaged(table, self, KEYS)
        return carried | ({self.properties[KEY]: self.id} if KEY in self.properties else {})


def loads_of(table: Table, loaded: str = "") -> list[LoadSnapshot]:
    """Return the snapshots of loads of the table ``loaded`` (default: this one) that have not expired, oldest first."""
    return loads_in(table.inspect.snapshots(), loaded or table.name)


def read_ledger(table: Table, *, accept_gaps: bool = False, found: pa.Table | None = None) -> Ledger:
    """Read the ledger from the snapshots of a table, with what is left when ``accept_gaps``.

    ``found`` are its snapshots, where the caller has just listed them.
    Snapshots that an expiry carries on and deletes during the read are read again. Raises PipelineError when entries
    are damaged, or missing.
    """
    ledger = _read(table, table.inspect.snapshots() if found is None else found)
    if ledger.gap:
        ledger = _read(table, table.inspect.snapshots())
    if ledger.gap and not accept_gaps:
        raise PipelineError(
            f"{ledger.gap}. Nothing is loaded, as it could be loaded twice: expire this table only with "
            "`python -m pipelines expire` or the nightly job. To repair it, load the whole table with reload: "
            f"`python -m pipelines load --table {table.name} --reload`; delete its rows before if its loads append"
        )
    return ledger


def carry_on(table: Table, expiring: Collection[int], *, begin: bool = False) -> Snapshot | None:
    """Commit an empty snapshot with all entries, if the snapshots in ``expiring`` have entries that no other has.

    ``begin``: also if the table was never loaded and its first snapshot expires, so that the history still says so.
    Returns None when there is no need. A gap is carried on as a gap. A load that commits at the same time may take the
    number first; then the entries are read again. Raises CommitConflict when that happens several times, PipelineError
    when entries are damaged, or when the table's options allow no empty snapshot.
    """
    return _carry(table, lambda number: number not in expiring, begin)


def carry_to(table: Table, snapshot_id: int, *, begin: bool = False) -> Snapshot | None:
    """Commit as ``carry_on`` does, unless this one snapshot has all entries; before a tag is created on it."""
    return _carry(table, lambda number: number == snapshot_id, begin)


def _carry(table: Table, stays: Callable[[int], bool], begin: bool) -> Snapshot | None:
    for _ in range(_TRIES):
        found = table.inspect.snapshots()
        loads = loads_in(found, table.name)
        if not loads:
            begins = begin and _first(found) == 1 and not stays(1)
            if not begins or not table.options["commit.force-create-snapshot"]:
                return None
        kept = [load for load in loads if stays(load.id)]
        ledger = _ledger(table.name, loads)
        if kept and _same_entries(ledger, _ledger(table.name, kept)):
            return None
        if (snapshot := _commit_entries(table, ledger)) is not None:
            return snapshot
    raise CommitConflict(f"{table.name}: loads took the number {_TRIES} times before the entries could be carried on")


def _commit_entries(table: Table, ledger: Ledger) -> Snapshot | None:
    """Commit all entries of a ledger under the next number; returns None when a load took the number."""
    properties = {
        STEP: CARRIED,
        ALL: ledger.files.to_text(),
        TOTAL: str(max(ledger.total, len(ledger.files.versions))),
        KEYS: json.dumps(_newest_keys(ledger)),
        INPUTS: json.dumps(ledger.inputs),
        WATERMARK: json.dumps(ledger.watermark),
    }
    try:
        snapshot = table.commit([], user=load_user(table.name), identifier=ledger.number + 1, properties=properties)
    except InvalidRequest:
        if all(load.number <= ledger.number for load in loads_of(table)):
            raise
        return None
    if snapshot is None:
        raise PipelineError(
            f"{table.name}: the entries of its loads cannot be carried on, because the table does not have the option "
            "commit.force-create-snapshot = true"
        )
    return snapshot if (snapshot.properties or {}).get(STEP) == CARRIED else None


def loads_in(found: pa.Table, loaded: str) -> list[LoadSnapshot]:
    """Return the snapshots of loads of a table among ``inspect.snapshots()``, oldest first."""
    found = found.filter(pc.equal(found["commit_user"], load_user(loaded)))
    columns = [found[name].to_pylist() for name in ("snapshot_id", "commit_identifier", "properties")]
    return [LoadSnapshot(number, load, dict(said or ())) for number, load, said in zip(*columns, strict=True)]


def _first(found: pa.Table) -> int | None:
    return found["snapshot_id"][0].as_py() if found.num_rows else None


def _read(table: Table, found: pa.Table) -> Ledger:
    loads = loads_in(found, table.name)
    ledger = _ledger(table.name, loads)
    known, first = len(ledger.files.versions), _first(found)
    if known < ledger.total:
        named = f"its snapshots name {known:,} of {ledger.total:,} loaded files"
        gap = f"{named}: another program expired snapshots of loads"
    elif not loads and first not in (None, 1) and found["total_record_count"][-1].as_py() != 0:
        gap = f"its snapshots before {first} expired, and no snapshot that is left says what was loaded"
    else:
        return ledger
    return replace(ledger, gap=f"{table.name}: {gap}")


def _ledger(table: str, loads: Sequence[LoadSnapshot]) -> Ledger:
    versions: dict[bytes, bytes] = {}
    keys: dict[str, int] = {}
    inputs: Mapping[str, Position] = {}
    watermark: object = None
    total = 0
    for load in loads:
        versions.update(load.files(table).versions)
        for key, number in load.keys(table).items():
            keys.pop(key, None)  # the order is that of the newest load with the key
            keys[key] = number
        inputs = {name: (at[0], at[1]) for name, at in (load.json(INPUTS, table) or {}).items()} or inputs
        watermark = load.json(WATERMARK, table) if WATERMARK in load.properties else watermark
        said = load.total(table)
        total = total if said is None else said
    return Ledger(loads[-1].number if loads else 0, LoadedFiles(versions), keys, inputs, watermark, total)


def _newest_keys(ledger: Ledger) -> dict[str, int]:
    return dict(list(ledger.keys.items())[-MOST_KEYS:])


def _same_entries(one: Ledger, other: Ledger) -> bool:
    def entries(ledger: Ledger) -> tuple[object, ...]:
        return ledger.files, ledger.inputs, ledger.watermark, ledger.total, _newest_keys(ledger)

    return entries(one) == entries(other)


def _damaged(table: str, load: LoadSnapshot, name: str) -> PipelineError:
    return PipelineError(f"{table}: the property {name} of snapshot {load.id} is damaged: it is no entry of a load")

"""The ledger: what the loads of a table have loaded, read from the properties of its snapshots.

Every load commits as the user ``load <table>`` with ascending identifiers, and its snapshot says what it loaded: files
(a digest of path and version each), the version of its inputs, or a watermark. There is no other record, so a rollback
removes entries together with their rows. An expiry would remove entries whose rows stay: ``carry_on`` repeats them in
an empty snapshot before. ``files-total`` counts all entries, so that entries which another program expired are noticed.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow.compute as pc

from paimon_core.errors import CommitConflict
from paimon_core.metadata.commit_message import Position
from paimon_core.metadata.snapshot import Snapshot
from paimon_core.table.table import Table
from pipelines.protocol import PipelineError

FILES, TOTAL, ALL = "pipeline.files", "pipeline.files-total", "pipeline.files-all"
KEY, INPUTS, WATERMARK, ATTEMPT = "pipeline.key", "pipeline.inputs", "pipeline.watermark", "pipeline.attempt"
PARTITIONS = "pipeline.partitions"
READ, WRITTEN, REJECTED = "pipeline.rows-read", "pipeline.rows-written", "pipeline.rows-rejected"
STEP = "pipeline.step"
MOST_FILES = 500_000
"""The largest number of files of one table: the digests of all are carried on in one snapshot, 16 bytes each."""
_TRIES = 5
_PATH, _VERSION = 8, 4
"""The bytes of the two digests of a file."""


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


def user_of(table: str) -> str:
    """Return the commit user of the loads of a table."""
    return f"load {table}"


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


def loads_of(table: Table, loaded: str = "") -> list[LoadSnapshot]:
    """Return the snapshots of loads of the table ``loaded`` (default: this one) that have not expired, oldest first."""
    found = table.inspect.snapshots()
    found = found.filter(pc.equal(found["commit_user"], user_of(loaded or table.name)))
    columns = [found[name].to_pylist() for name in ("snapshot_id", "commit_identifier", "properties")]
    return [LoadSnapshot(number, load, dict(said or ())) for number, load, said in zip(*columns, strict=True)]


def read_ledger(table: Table) -> Ledger:
    """Read the ledger from the snapshots of a table; raises PipelineError when entries are missing or damaged."""
    loads = loads_of(table)
    if not loads:
        return Ledger()
    ledger = _ledger(table.name, loads)
    total = int(loads[-1].properties.get(TOTAL, "0"))
    if len(ledger.files.versions) < total:
        raise PipelineError(
            f"{table.name}: its snapshots name {len(ledger.files.versions):,} of {total:,} loaded files: another "
            "program expired snapshots of loads. Nothing is loaded, as a file could be loaded twice: expire this table "
            "only with `python -m pipelines expire` or the nightly job"
        )
    return ledger


def carry_on(table: Table, expiring: Collection[int]) -> Snapshot | None:
    """Commit an empty snapshot with all entries, if the snapshots in ``expiring`` have entries that no other has.

    Returns None when there is no need. A load that commits at the same time may take the number first; then the entries
    are read again. Raises CommitConflict when that happens several times.
    """
    for _ in range(_TRIES):
        loads = loads_of(table)
        kept = [load for load in loads if load.id not in expiring]
        if not loads or (kept and _same_entries(_ledger(table.name, loads), _ledger(table.name, kept))):
            return None
        ledger = read_ledger(table)
        properties = {
            STEP: "carry-on",
            ALL: ledger.files.to_text(),
            TOTAL: str(len(ledger.files.versions)),
            INPUTS: json.dumps(ledger.inputs),
            WATERMARK: json.dumps(ledger.watermark),
        }
        snapshot = table.commit([], user=user_of(table.name), identifier=ledger.number + 1, properties=properties)
        if snapshot is not None and ALL in (snapshot.properties or {}):
            return snapshot
    raise CommitConflict(f"{table.name}: loads took the number {_TRIES} times before the expiry could commit")


def _ledger(table: str, loads: Sequence[LoadSnapshot]) -> Ledger:
    versions: dict[bytes, bytes] = {}
    keys: dict[str, int] = {}
    inputs: Mapping[str, Position] = {}
    watermark: object = None
    for load in loads:
        versions.update(load.files(table).versions)
        if KEY in load.properties:
            keys[load.properties[KEY]] = load.id
        inputs = {name: (at[0], at[1]) for name, at in (load.json(INPUTS, table) or {}).items()} or inputs
        watermark = load.json(WATERMARK, table) if WATERMARK in load.properties else watermark
    return Ledger(loads[-1].number, LoadedFiles(versions), keys, inputs, watermark)


def _same_entries(one: Ledger, other: Ledger) -> bool:
    return (one.files, one.inputs, one.watermark) == (other.files, other.inputs, other.watermark)


def _damaged(table: str, load: LoadSnapshot, name: str) -> PipelineError:
    return PipelineError(f"{table}: the property {name} of snapshot {load.id} is damaged: it is no entry of a load")

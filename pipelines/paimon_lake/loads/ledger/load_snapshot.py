"""Load snapshots: parses the properties of a snapshot about loads, and about lost rows of loads."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.maintain.repair.loss import LOSS, Loss
from paimon_core.metadata.commit_message import Position
from paimon_core.metadata.snapshot import CommitKind
from paimon_core.table.table import Table
from paimon_lake.loads.inputs.input_loads import LOADED, STALE, InputLoad, LoadedPartitions, from_reasons, texts
from paimon_lake.loads.ledger.load_properties import PARTITIONS, load_user, part_of, table_of
from paimon_lake.loads.ledger.loaded_files import CONTENT_BYTES, PATH_BYTES, VERSION_BYTES, LoadedFiles, entries
from paimon_lake.loads.ledger.lost import Lost
from paimon_lake.protocol import PipelineError

FILES, TOTAL, ALL = "pipeline.files", "pipeline.files-total", "pipeline.files-all"
CONTENTS = "pipeline.files-contents"
KEY, INPUTS, WATERMARK, ATTEMPT = "pipeline.key", "pipeline.inputs", "pipeline.watermark", "pipeline.attempt"
POSITION = "pipeline.position"
"""The position in the log of PostgreSQL, or in the topics of Kafka, up to which changes are loaded."""
KEYS = "pipeline.keys-all"
LOST, RESTORES = "pipeline.lost", "pipeline.restores"
"""``LOST``: the lost rows, in a snapshot that copies the ledger. ``RESTORES``: the newest removal of missing files
whose rows a load has loaded again."""
STEP = "pipeline.step"
PARTS = "pipeline.parts-all"
"""In a snapshot that copies the ledgers of all parts of a table: the number and the properties of each part."""
CARRIED = "carry-on"
"""The value of the property ``STEP`` in a snapshot that only copies the ledger."""
_MOST_DIGITS = 19


@dataclass(frozen=True)
class LoadSnapshot:
    """A snapshot that a load committed: its id, the number of the load, and its properties."""

    id: int
    number: int
    properties: Mapping[str, str]

    def json(self, name: str, table: str) -> Any:
        """Return the value of a property that contains JSON.

        Returns None when the property is missing. Raises PipelineError for a text that is not JSON.
        """
        text = self.properties.get(name)
        try:
            return None if text is None else json.loads(text)
        except ValueError:
            raise _damaged(table, self.id, name) from None

    def files(self, table: str) -> LoadedFiles:
        """Return the files in the properties of this snapshot; raises PipelineError when a property is damaged."""
        loaded = {**self._files(ALL, table), **self._files(FILES, table)}
        return LoadedFiles(loaded, self._files(CONTENTS, table, VERSION_BYTES + CONTENT_BYTES))

    def own_files(self, table: str) -> Collection[bytes]:
        """Return the digests of the paths that this load has read; raises PipelineError as ``files`` does."""
        return self._files(FILES, table).keys()

    def _files(self, name: str, table: str, size: int = VERSION_BYTES) -> Mapping[bytes, bytes]:
        try:
            return entries(self.properties.get(name, ""), size)
        except ValueError:
            raise _damaged(table, self.id, name) from None

    def total(self, table: str) -> int | None:
        """Return the number of all loaded files, None if not recorded; raises PipelineError when it is damaged."""
        return self._number(TOTAL, table)

    def _number(self, name: str, table: str) -> int | None:
        text = self.properties.get(name)
        if text is not None and not (text.isascii() and text.isdigit() and len(text) < _MOST_DIGITS):
            raise _damaged(table, self.id, name)
        return None if text is None else int(text)

    def lost(self, before: Lost, table: str) -> Lost:
        """Return the lost rows after this snapshot, given the lost rows ``before``. Raises PipelineError when a
        property is damaged.
        """
        if self.properties.get(STEP) != CARRIED:
            if not before:
                return before
            return before.with_load(self.own_files(table), self._number(RESTORES, table) or 0)
        try:
            carried = Lost.from_text(self.properties[LOST], PATH_BYTES) if LOST in self.properties else before
        except ValueError:
            raise _damaged(table, self.id, LOST) from None
        return before.with_carried(carried)

    def keys(self, table: str) -> Mapping[str, int]:
        """Return the keys of loads in this snapshot, with the snapshot of each load.

        Raises PipelineError for a damaged property.
        """
        carried = self.json(KEYS, table)
        if carried is None:
            carried = {}
        if not isinstance(carried, dict) or any(type(number) is not int for number in carried.values()):
            raise _damaged(table, self.id, KEYS)
        return carried | ({self.properties[KEY]: self.id} if KEY in self.properties else {})

    def inputs(self, table: str) -> Mapping[str, Position]:
        """Return the snapshots of inputs that the load read; {} without inputs.

        Raises PipelineError for a damaged property.
        """
        try:
            return {name: (int(at[0]), str(at[1])) for name, at in (self.json(INPUTS, table) or {}).items()}
        except (AttributeError, TypeError, ValueError, LookupError):
            raise _damaged(table, self.id, INPUTS) from None

    def input_load(self, table: str) -> InputLoad | None:
        """Return the inputs and partitions of a load, None without inputs; raises PipelineError when a property is
        damaged.
        """
        inputs, name = self.inputs(table), LOADED
        if not inputs:
            return None
        try:
            if LOADED in self.properties:
                return LoadedPartitions.from_json(self.json(LOADED, table), inputs)
            name = STALE
            stale = from_reasons(self.json(STALE, table)) if STALE in self.properties else None
            name = PARTITIONS
            keys = texts(self.json(PARTITIONS, table)) if PARTITIONS in self.properties else ()
            return InputLoad(inputs, keys, PARTITIONS not in self.properties, stale)
        except ValueError:
            raise _damaged(table, self.id, name) from None


@dataclass(frozen=True)
class Removal:
    """A snapshot that removed missing data files: its id, and the text of the property that describes the lost rows."""

    id: int
    text: str

    def loss(self, table: str) -> Loss:
        """Return the lost rows of this removal; raises PipelineError when the property is damaged."""
        try:
            return Loss.from_text(self.text)
        except ValueError:
            raise _damaged(table, self.id, LOSS) from None


Event = LoadSnapshot | Removal


def loads_of(table: Table, loaded: str = "") -> list[LoadSnapshot]:
    """Return the unexpired snapshots in ``table`` of the loads of ``loaded``, oldest first.

    ``loaded`` is a load name: the name of a table, by default of ``table``, or of a part of a table.
    """
    return loads_in(table.inspect.snapshots(), loaded or table.name)


def loads_in(snapshots: pa.Table, loaded: str) -> list[LoadSnapshot]:
    """Return the snapshots of loads of a table, or of a part, among ``inspect.snapshots()``, oldest first."""
    users = pa.array([load_user(loaded), load_user(table_of(loaded))])
    return only_loads(events_in(snapshots.filter(pc.is_in(snapshots["commit_user"], users)), loaded))


def only_loads(events: Sequence[Event]) -> list[LoadSnapshot]:
    """Return the loads, without the removals."""
    return [event for event in events if isinstance(event, LoadSnapshot)]


def events_in(snapshots: pa.Table, loaded: str) -> list[Event]:
    """Return the loads of a table, or of a part, and the removals of missing files among its snapshots, oldest first.

    A snapshot that copies the ledgers of all parts counts as a load of the part, unless an earlier load of the part has
    a greater number: then the copy was made before that load. Raises PipelineError when a copy is damaged.
    """
    names = ("snapshot_id", "commit_user", "commit_identifier", "commit_kind", "properties")
    events: list[Event] = []
    for number, user, load, kind, listed in zip(*(snapshots[name].to_pylist() for name in names), strict=True):
        properties = dict(listed or ())
        if user == load_user(loaded):
            events.append(LoadSnapshot(number, load, properties))
        elif PARTS in properties and part_of(loaded):
            newest = max((one.number for one in only_loads(events)), default=0)
            events += [copy for copy in _carried(number, properties[PARTS], loaded) if copy.number >= newest]
        elif LOSS in properties and kind == CommitKind.OVERWRITE:  # a compaction of manifests copies the properties
            events.append(Removal(number, properties[LOSS]))
    return events


def _carried(number: int, text: str, loaded: str) -> list[LoadSnapshot]:
    """Return the entries of one part in a snapshot that copies the ledgers of all parts: a list of at most one load."""
    try:
        found = json.loads(text).get(loaded)
        if found is None:
            return []
        load, properties = found["number"], {str(name): str(one) for name, one in found["properties"].items()}
    except (ValueError, TypeError, LookupError, AttributeError):
        raise _damaged(loaded, number, PARTS) from None
    if type(load) is not int:
        raise _damaged(loaded, number, PARTS)
    return [LoadSnapshot(number, load, properties)]


def _damaged(table: str, snapshot: int, name: str) -> PipelineError:
    return PipelineError(f"{table}: the property {name} of snapshot {snapshot} is damaged: it is no entry of a load")

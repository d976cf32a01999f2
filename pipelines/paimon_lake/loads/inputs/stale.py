"""Stale partitions of a table that is made from other tables: partitions whose inputs changed after their load.

When loads read only the rows of their partitions from an input, a changed row makes only its partition stale. When
loads read the whole input, a changed row makes all partitions stale. All partitions that a load wrote are also stale
when the changes since the load are not known, because the snapshot that it read has expired or was rolled back; the
reason then says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from paimon_core.catalog.catalog import Catalog
from paimon_core.errors import CorruptTable, InvalidRequest, SchemaMismatch, SnapshotNotFound, UnsupportedFeature
from paimon_core.table.view import TableView
from paimon_lake.declarations import Settings, TableSpec
from paimon_lake.declarations.agreement.tables import inputs_of
from paimon_lake.declarations.part_spec import PartSpec, load_specs
from paimon_lake.declarations.sources.source import SqlSource
from paimon_lake.loads.inputs.input_changes import InputChanges, broken_position, input_changes, live_ids
from paimon_lake.loads.inputs.input_loads import InputLoad, LoadedPartitions
from paimon_lake.loads.inputs.stale_text import OTHERS
from paimon_lake.loads.ledger.ledger import read_ledger
from paimon_lake.loads.partitions.partition_keys import is_outside, keys_of_values
from paimon_lake.tables import open_lake


def stale_now(settings: Settings, name: str) -> dict[str, str]:
    """Return the stale partitions of a table with the reason of each; {} for a table that was never loaded.

    The key ``OTHERS`` stands for all other rows of the table. An input that changes during the call may be seen before
    or after the change.
    """
    catalog = open_lake(settings)
    if not inputs_of(settings.table(name)) or not catalog.table_exists(name):
        return {}
    found: dict[str, str] = {}
    for spec in load_specs(settings.table(name)):
        for key, why in stale_of(settings, spec, catalog).items():
            text = f"part {spec.part}: {why}" if isinstance(spec, PartSpec) else why
            found[key] = f"{found[key]}, {text}" if key in found else text
    return found


def stale_of(settings: Settings, spec: TableSpec, catalog: Catalog) -> dict[str, str]:
    """Return the stale partitions of a table in the lake, or of one part of the table, with the reason for each
    partition.
    """
    if not inputs_of(spec):
        return {}
    loads = read_ledger(catalog.table(spec.name), spec.load_name, accept_gaps=True).input_loads
    if not loads:
        return {}
    inputs = {one: catalog.table(one) for one in inputs_of(spec) if catalog.table_exists(one)}
    missing = [one for one in inputs_of(spec) if one not in inputs]
    found = stale_partitions(settings, spec, loads, inputs)
    return found | ({OTHERS: f"{', '.join(missing)} is no longer in the lake"} if missing else {})


def stale_partitions(
    settings: Settings, spec: TableSpec, loads: Sequence[InputLoad], inputs: Mapping[str, TableView]
) -> dict[str, str]:
    """Return the stale partitions, with reasons, of a table with these loads; ``inputs`` may be pinned to snapshots."""
    if not by_partition(spec):
        loads = [replace(load, keys=(), is_whole=True) for load in loads]
    state = LoadedPartitions.of(loads)
    found = dict(state.stale)
    groups: dict[int, list[str]] = {}
    for key, number in state.owners.items():
        groups.setdefault(number, []).append(key)
    for name, table in inputs.items():
        one = _InputState(settings.table(name), spec, table, loads, {})
        for number, keys in groups.items():
            for key, why in one.stale(number, keys).items():
                found.setdefault(key, why)
        if state.whole is not None:
            for key, why in one.stale(state.whole, None).items():
                if key not in state.owners:
                    found.setdefault(key, why)
    return found


def by_partition(spec: TableSpec) -> bool:
    """Whether a load of some partitions reads only the same partitions of inputs that have partitions."""
    reads_all = isinstance(spec.source, SqlSource) and spec.source.read in ("whole", "changes")
    return spec.partitions is not None and not reads_all


@dataclass(frozen=True)
class _InputState:
    """One input of a table, and its changes since each load, as far as they were read already."""

    given: TableSpec
    spec: TableSpec
    table: TableView
    loads: Sequence[InputLoad]
    known: dict[int, InputChanges | str]

    def stale(self, number: int, keys: Sequence[str] | None) -> dict[str, str]:
        """Return the stale partitions among ``keys`` of a load (None: the whole table was loaded), with reasons."""
        base = self._base(number)
        changes = self._changes(base)
        if isinstance(changes, str):
            return dict.fromkeys([OTHERS] if keys is None else keys, changes)
        if not changes.changed:
            return {}
        read = self.loads[base].inputs[self.given.name][0]
        if changes.values is None:
            all_rows = "" if self._column else ", which is read as a whole,"
            why = f"{self.given.name}{all_rows} changed after snapshot {read}"
            return dict.fromkeys([OTHERS] if keys is None else keys, why)
        assert self.given.partitions is not None
        assert self.spec.partitions is not None
        root = self.table.schema.by_name[self._column].type.root
        changed = keys_of_values(changes.values, root, self.given, self.spec.partitions, keys)
        if keys is None:
            changed = {key for key in changed if not is_outside(self.spec.partitions, key, self.spec.name)}
        return dict.fromkeys(changed, f"{self.given.name} changed after snapshot {read}")

    @property
    def _column(self) -> str:
        """The column of the input that gives the partition of a row; empty when all of its rows are read."""
        partitions = self.given.partitions
        return partitions.column if partitions is not None and by_partition(self.spec) else ""

    def _base(self, number: int) -> int:
        """Return the position of the load whose inputs are compared with the latest snapshots of the inputs.

        This is the newest load that compared all partitions and whose input snapshot is in the history, or load
        ``number`` if that load is newer or no load compared them.
        """
        return number if self._newest is None or self._newest < number else self._newest

    @cached_property
    def _newest(self) -> int | None:
        """The newest load that compared all partitions and read a snapshot of this input that is in the history."""
        numbers = range(len(self.loads) - 1, -1, -1)
        return next((n for n in numbers if self.loads[n].stale is not None and not self._broken(n)), None)

    @cached_property
    def _ids(self) -> range:
        return live_ids(self.table)

    def _broken(self, number: int) -> str:
        at = self.loads[number].inputs.get(self.given.name)
        if at is None:
            return f"{self.given.name} was no input of the load"
        why = broken_position(self.table, at, self._ids)
        return f"it was made from snapshot {at[0]} of {self.given.name}, which {why}" if why else ""

    def _changes(self, number: int) -> InputChanges | str:
        """Return the changes since a load, or why they are not known."""
        if number not in self.known:
            self.known[number] = self._broken(number) or self._read(number)
        return self.known[number]

    def _read(self, number: int) -> InputChanges | str:
        at = self.loads[number].inputs[self.given.name]
        try:
            return input_changes(self.table, at, self._column)
        except (SnapshotNotFound, CorruptTable, InvalidRequest, SchemaMismatch, UnsupportedFeature) as error:
            return f"the changes of {self.given.name} after snapshot {at[0]} are not known: {error}"

"""Demo loads: load every table with a source; each table is loaded after its inputs."""

from __future__ import annotations

from datetime import date

import dagster as dg

from assets.demo.runs import Demo, say
from paimon_dagster.metadata import asset_key
from paimon_dagster.partitions import partitions_def
from paimon_dagster.sensors.file_requests import listed, planned
from paimon_lake.declarations import TableSpec
from paimon_lake.declarations.agreement.order import in_order
from paimon_lake.declarations.agreement.tables import inputs_of
from paimon_lake.declarations.sources.source import FilesSource
from paimon_lake.loads.ledger.ledger import Ledger, read_ledger
from paimon_lake.loads.partitions.partition_keys import window
from paimon_lake.overview import existing
from paimon_lake.tables import open_lake, open_table

_Ranges = tuple[tuple[str, str], ...]
_Changed = dict[str, list[tuple[str, str]] | None]
"""Maps each table that runs of this demo changed to the first and last partition of each run; None when all rows
changed."""


def load_tables(demo: Demo, last_day: date | None) -> None:
    """Materialize the tables with a source; tables that need the same partitions share their runs.

    Partitions of a table that is made from other tables are loaded again when a run has changed their inputs.
    """
    before, changed = _snapshots(demo), _Changed()
    for group in in_order(demo.settings.tables):
        together: dict[_Ranges | None, list[str]] = {}
        for spec in (demo.settings.table(name) for name in group):
            if spec.has_loads:
                together.setdefault(_missing(demo, spec, last_day, changed), []).append(spec.name)
        for ranges, names in together.items():
            step = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
            at = _snapshots(demo)
            if ranges is None:
                demo.materialize(step, names)
            for first, last in ranges or ():
                demo.materialize(step, names, first, last)
            now = _snapshots(demo)
            changed |= {
                name: None if ranges is None else list(ranges) for name in names if now.get(name) != at.get(name)
            }
    if _snapshots(demo) == before:
        say("everything was loaded before: nothing is added again")


def _snapshots(demo: Demo) -> dict[str, int | None]:
    latest = {name: open_table(demo.settings, name).latest_snapshot() for name in existing(demo.settings)}
    return {name: None if snapshot is None else snapshot.id for name, snapshot in latest.items()}


def _missing(demo: Demo, spec: TableSpec, last_day: date | None, changed: _Changed) -> _Ranges | None:
    """Return ranges of at most ``backfill_per_run`` partitions to load, as (first, last) keys; None: the whole table.

    A partition is loaded when it has files that were not loaded. When the source does not list files, a partition is
    loaded if it was not materialized yet, or if its inputs changed.
    """
    partitions = partitions_def(spec)
    if partitions is None:
        return None
    exists = open_lake(demo.settings).table_exists(spec.name)
    done = demo.instance.get_materialized_partitions(asset_key(spec.name)) if exists else set()
    new: set[str] = set()
    has_list = False
    if isinstance(spec.source, FilesSource) and "{" in spec.source.path:
        ledger = read_ledger(open_table(demo.settings, spec.name)) if exists else Ledger()
        new = {file.partition or "" for file in planned(spec, listed(demo.settings, spec), ledger).files}
        has_list = not spec.source.fetch
        if isinstance(partitions, dg.DynamicPartitionsDefinition):
            demo.instance.add_dynamic_partitions(spec.ident, sorted(new))
    end = None if last_day is None or not isinstance(partitions, dg.TimeWindowPartitionsDefinition) else str(last_day)
    ranges: list[list[str]] = []
    is_open = False
    for key in partitions.get_partition_keys(dynamic_partitions_store=demo.instance):
        wanted = key in new or not (key in done or has_list) or _is_stale(demo, spec, key, changed)
        if not wanted or (end is not None and key[: len(end)] > end):  # the key of an hour begins with its day
            is_open = False
        elif is_open and len(ranges[-1]) < spec.backfill_per_run:
            ranges[-1].append(key)
        else:
            ranges.append([key])
            is_open = True
    return tuple((keys[0], keys[-1]) for keys in ranges)


def _is_stale(demo: Demo, spec: TableSpec, key: str, changed: _Changed) -> bool:
    """Whether a run of this demo changed an input partition from which the partition ``key`` of a table is made."""
    assert spec.partitions is not None
    for name in inputs_of(spec):
        ranges, of = changed.get(name, []), demo.settings.table(name).partitions
        if ranges is None or (ranges and of is None):
            return True
        for first, last in ranges:
            if of is None or not (of.by_time and spec.partitions.by_time):
                if first <= key <= last:
                    return True
                continue
            begin, end = window(spec.partitions, key, spec.name)
            if begin < window(of, last, name)[1] and window(of, first, name)[0] < end:
                return True
    return False

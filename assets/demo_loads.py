"""Demo loads: load every table with a source, inputs before the tables that are made from them."""

from __future__ import annotations

from datetime import date

import dagster as dg

from assets.demo_runs import Demo, say
from assets.file_requests import listed, planned
from assets.metadata import asset_key
from assets.partitions import partitions_def
from pipelines.lake import TableSpec
from pipelines.lake.order import in_order
from pipelines.lake.sources import FilesSource
from pipelines.load.ledger import Ledger, read_ledger
from pipelines.show import existing
from pipelines.tables import open_table

_Ranges = tuple[tuple[str, str], ...]


def load_tables(demo: Demo, last_day: date | None) -> None:
    """Materialize the tables with a source; tables that need the same partitions share their runs."""
    before = _snapshots(demo)
    for group in in_order(demo.settings.tables):
        together: dict[_Ranges | None, list[str]] = {}
        for spec in (demo.settings.table(name) for name in group):
            if spec.source is not None:
                together.setdefault(_missing(demo, spec, last_day), []).append(spec.name)
        for ranges, names in together.items():
            step = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
            if ranges is None:
                demo.materialize(step, names)
            for first, last in ranges or ():
                demo.materialize(step, names, first, last)
    if _snapshots(demo) == before:
        say("everything was loaded before: nothing is added again")


def _snapshots(demo: Demo) -> dict[str, int | None]:
    latest = {name: open_table(demo.settings, name).latest_snapshot() for name in existing(demo.settings)}
    return {name: None if snapshot is None else snapshot.id for name, snapshot in latest.items()}


def _missing(demo: Demo, spec: TableSpec, last_day: date | None) -> _Ranges | None:
    """Return ranges of at most ``backfill_per_run`` partitions to load, first and last key each; None: load the table.

    These are the partitions with files that were not loaded; without a list of files, those not materialized yet.
    """
    partitions = partitions_def(spec)
    if partitions is None:
        return None
    exists = spec.name in existing(demo.settings)
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
        wanted = key in new or not (key in done or has_list)
        if not wanted or (end is not None and key[: len(end)] > end):  # an hour has its day as prefix
            is_open = False
        elif is_open and len(ranges[-1]) < spec.backfill_per_run:
            ranges[-1].append(key)
        else:
            ranges.append([key])
            is_open = True
    return tuple((keys[0], keys[-1]) for keys in ranges)

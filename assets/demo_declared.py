"""The demo of declared tables: load every table with a source, inputs before the tables that read them."""

from __future__ import annotations

from graphlib import TopologicalSorter

import dagster as dg

from assets.demo_runs import Demo, say
from assets.metadata import asset_key
from assets.partitions import partitions_def
from pipelines.lake import TableSpec
from pipelines.lake.sources import FilesSource
from pipelines.load.source_files import source_files


def load_declared(demo: Demo) -> None:
    """Materialize the tables with a source: of tables with partitions, those that are not materialized yet."""
    specs = {name: spec for name, spec in demo.settings.tables.items() if spec.source is not None}
    order = TopologicalSorter({name: set(getattr(spec.source, "inputs", ())) for name, spec in specs.items()})
    for name in order.static_order():
        if name not in specs:
            continue
        spec = specs[name]
        partitions = partitions_def(spec)
        if partitions is None:
            demo.materialize(name, [name])
            continue
        ranges = _missing(demo, spec, partitions)
        for first, last in ranges:
            demo.materialize(name, [name], first, last)
        if not ranges:
            say(f"{name}: all partitions were loaded before")


def _missing(demo: Demo, spec: TableSpec, partitions: dg.PartitionsDefinition[str]) -> list[tuple[str, str]]:
    """Return ranges of at most ``backfill_per_run`` partitions that are not materialized, first and last key each.

    Of a table that is loaded from files, only partitions that have files.
    """
    wanted = None
    if isinstance(spec.source, FilesSource) and "{" in spec.source.path:
        wanted = {file.partition for file in source_files(demo.settings, spec.source, None)}
        if isinstance(partitions, dg.DynamicPartitionsDefinition):
            demo.instance.add_dynamic_partitions(spec.ident, sorted(filter(None, wanted)))
    done = demo.instance.get_materialized_partitions(asset_key(spec.name))
    ranges: list[list[str]] = []
    is_open = False
    for key in partitions.get_partition_keys(dynamic_partitions_store=demo.instance):
        if key in done or (wanted is not None and key not in wanted):
            is_open = False
        elif is_open and len(ranges[-1]) < spec.backfill_per_run:
            ranges[-1].append(key)
        else:
            ranges.append([key])
            is_open = True
    return [(keys[0], keys[-1]) for keys in ranges]

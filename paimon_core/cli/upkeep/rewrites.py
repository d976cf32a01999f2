"""Rewrites: compacts, sorts and rescales tables; these commands run at once, without a plan."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from paimon_core.cli.catalogs.opening import table_of
from paimon_core.cli.output.output import Output
from paimon_core.cli.output.sentences import say_commit
from paimon_core.cli.upkeep.partitions import partition_filter
from paimon_core.errors import InvalidRequest, PaimonError
from paimon_core.table.upkeep.mends import compact_fully

if TYPE_CHECKING:
    from paimon_core.catalog.catalog import Catalog


def compact(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Compact a table: merge sorted runs, combine small files, or sort the rows of an append table."""
    table = table_of(catalog, args)
    where = partition_filter(table, args)
    if args.order_by is not None:
        if args.partition_idle_time is not None:
            raise InvalidRequest("--partition-idle-time cannot be given with --order-by")
        done = table.sort_compact(args.order_by.split(","), args.strategy or "order", where)
        return say_commit(out, done.snapshot)
    if args.strategy is not None:
        raise InvalidRequest("--strategy needs --order-by")
    if args.full:
        return say_commit(out, compact_fully(table, where, args.partition_idle_time))
    return say_commit(out, table.compact(where=where, partition_idle_time=args.partition_idle_time).snapshot)


def compact_database(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Compact the tables of databases, and tell what happened to each."""
    patterns = {
        name: getattr(args, name)
        for name in ("including_databases", "including_tables", "excluding_tables")
        if getattr(args, name) is not None
    }
    try:
        found = catalog.compact_database(**patterns, full=args.full, partition_idle_time=args.partition_idle_time)
    except PaimonError as error:
        if "outcomes" not in error.facts:
            raise
        found = list(error.facts["outcomes"])
    rows = [
        {
            "table": one.table,
            "snapshots": [snapshot.id for snapshot in one.report.snapshots],
            "conflicts": one.report.conflicts,
            "skipped": one.skipped or None,
            "error": None if one.error is None else str(one.error),
        }
        for one in found
    ]
    nothing = "no database matches --including-databases, or none has a table"
    out.say("\n".join(one.sentence for one in found) or nothing, rows)
    return int(any(one.error is not None for one in found))


def rewrite_file_index(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Give existing data files the indexes that the table's options name."""
    return say_commit(out, table_of(catalog, args).rewrite_file_index(args.where, every=args.every))


def rescale(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Rewrite partitions into another number of buckets."""
    table = table_of(catalog, args)
    return say_commit(out, table.rescale(args.buckets, partition_filter(table, args)))


def compact_manifests(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Rewrite the manifests into fewer, larger manifests."""
    return say_commit(out, table_of(catalog, args).maintenance.compact_manifests())

"""Write commands: change a table without removing data. These commands run at once, without a plan."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from functools import reduce
from operator import and_, or_
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from paimon_core.cli.catalogs import table_of
from paimon_core.cli.output import Output, sentence
from paimon_core.errors import InvalidRequest, PaimonError
from paimon_core.predicate import Predicate, Where, col
from paimon_core.table.upkeep.mends import compact_fully

if TYPE_CHECKING:
    from paimon_core.catalog.catalog import Catalog
    from paimon_core.metadata.snapshot import Snapshot
    from paimon_core.table.table import Table


def alter(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Change columns, comments and options of a table."""
    table = table_of(catalog, args)
    altered = table.alter(*args.change)
    if altered.schema.id == table.schema.id:
        out.say(f"nothing to change: schema {altered.schema.id}", {"schema": altered.schema.id})
    else:
        columns = ", ".join(f"{f.name} {f.type}" for f in altered.schema.fields)
        out.say(f"schema {altered.schema.id}: {columns}", {"schema": altered.schema.id})
    return 0


def create_tag(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Create a tag for a snapshot."""
    tag = table_of(catalog, args).tags.create(
        args.name, args.snapshot, time=args.time, watermark=args.watermark, keep_for=args.keep_for
    )
    out.say(f"created tag {tag.name} for snapshot {tag.snapshot.id}", {"tag": tag.name, "snapshot": tag.snapshot.id})
    return 0


def rename_tag(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Rename a tag."""
    tag = table_of(catalog, args).tags.rename(args.name, args.new_name)
    out.say(f"renamed tag {args.name} to {tag.name}", {"tag": tag.name, "snapshot": tag.snapshot.id})
    return 0


def create_branch(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Create a branch: empty, from a tag, or from the latest snapshot."""
    table_of(catalog, args).branches.create(args.name, tag=args.tag, from_latest=args.from_latest)
    out.say(f"created branch {args.name}", {"branch": args.name})
    return 0


def rename_branch(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Rename a branch."""
    table_of(catalog, args).branches.rename(args.name, args.new_name)
    out.say(f"renamed branch {args.name} to {args.new_name}", {"branch": args.new_name})
    return 0


def fast_forward(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Add the newer snapshots, schemas and tags of another branch to this branch."""
    return _committed(out, table_of(catalog, args).branches.fast_forward(args.name))


def compact(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Compact a table: merge sorted runs, combine small files, or sort the rows of an append table."""
    table = table_of(catalog, args)
    where = _in_partitions(table, args)
    if args.order_by is not None:
        if args.partition_idle_time is not None:
            raise InvalidRequest("--partition-idle-time cannot be given with --order-by")
        done = table.sort_compact(args.order_by.split(","), args.strategy or "order", where)
        return _committed(out, done.snapshot)
    if args.strategy is not None:
        raise InvalidRequest("--strategy needs --order-by")
    if args.full:
        return _committed(out, compact_fully(table, where, args.partition_idle_time))
    return _committed(out, table.compact(where=where, partition_idle_time=args.partition_idle_time).snapshot)


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
    return _committed(out, table_of(catalog, args).rewrite_file_index(args.where, every=args.every))


def rescale(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Rewrite partitions into another number of buckets."""
    table = table_of(catalog, args)
    return _committed(out, table.rescale(args.buckets, _in_partitions(table, args)))


def compact_manifests(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Rewrite the manifests into fewer, larger manifests."""
    return _committed(out, table_of(catalog, args).maintenance.compact_manifests())


def repair_hints(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Correct the hint files LATEST and EARLIEST."""
    report = table_of(catalog, args).maintenance.repair_hints()
    out.say(sentence(report), report)
    return 0


def mark_done(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Mark partitions as complete."""
    table = table_of(catalog, args)
    files = table.maintenance.mark_done(*({k: _value(table, k, v) for k, v in spec.items()} for spec in args.partition))
    out.say("\n".join(files), list(files))
    return 0


def _in_partitions(table: Table, args: argparse.Namespace) -> Where | None:
    """Return the filter for the partitions in the arguments (None: all); the default partition name stands for null."""
    if args.where is not None:
        return str(args.where)
    specs: Sequence[Mapping[str, str]] | None = args.partition
    default = table.context.options["partition.default-name"]

    def condition(column: str, text: str) -> Predicate:
        return col(column).is_null() if text == default else col(column) == _value(table, column, text)

    return reduce(or_, [reduce(and_, [condition(*item) for item in spec.items()]) for spec in specs]) if specs else None


def _value(table: Table, column: str, text: str) -> Any:
    """Parse the value of a partition column; raises InvalidRequest for text that is not of the column's type."""
    (field,) = table.schema.select([column])
    try:
        return pa.array([text]).cast(field.type.to_arrow())[0].as_py()
    except (pa.ArrowException, ValueError):
        raise InvalidRequest(
            f"{text!r:.60} is not a value of type {field.type} for partition column {column!r}", column=column
        ) from None


def undo(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Restore the files that an orphan removal moved to quarantine; return 1 when some files are lost."""
    report = table_of(catalog, args).maintenance.undo(args.id)
    out.say(sentence(report), report)
    return 1 if report.lost else 0


def _committed(out: Output, snapshot: Snapshot | None) -> int:
    text = "nothing to do" if snapshot is None else f"snapshot {snapshot.id} ({snapshot.commit_kind})"
    out.say(text, {"snapshot": None if snapshot is None else snapshot.id})
    return 0

"""Definitions: creates, changes, drops and renames tables."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from paimon_core.cli.catalogs.opening import table_of
from paimon_core.cli.catalogs.remedies import database_of
from paimon_core.cli.output.output import Output
from paimon_core.cli.output.sentences import counted
from paimon_core.cli.parsing.values import key_values
from paimon_core.cli.tables.descriptions import description
from paimon_core.errors import CorruptTable

if TYPE_CHECKING:
    from paimon_core.catalog.catalog import Catalog


def create(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Create a table, and its database if that is asked for."""
    with database_of(catalog, args.table, is_wanted=args.create_database):
        table = catalog.create_table(
            args.table,
            args.columns,
            primary_key=args.primary_key,
            partition_by=args.partition_by,
            options=key_values("--table-option", args.table_option),
            comment=args.comment,
            ignore_if_exists=args.if_not_exists,
        )
    columns = ", ".join(f"{f.name} {f.type}" for f in table.schema.fields)
    out.say(f"table {table.name} at {table.location}: {columns}", {"table": table.name, "location": table.location})
    return 0


def drop(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Print what a drop would delete; with ``--apply`` delete the table with all of its files."""
    try:
        size = description(catalog.table(args.table))["size"]
    except CorruptTable as error:
        size, parts = {}, [f"its size is unknown ({error})"]
    else:
        nouns = {"files": "live data file", "snapshots": "snapshot", "tags": "tag", "branches": "branch"}
        parts = [counted(size["bytes"], "byte"), *(counted(size[name], noun) for name, noun in nouns.items())]
    what = f"table {args.table} with all of its files: {', '.join(parts)}"
    if args.apply:
        catalog.drop_table(args.table)
    text = f"dropped {what}" if args.apply else f"would drop {what}\nnothing was changed: add --apply to drop it"
    out.say(text, {"table": args.table, "dropped": args.apply, **size})
    return 0


def rename(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Rename a table, also into another database."""
    catalog.rename_table(args.table, args.new_name)
    out.say(f"renamed table {args.table} to {args.new_name}", {"table": args.new_name})
    return 0


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

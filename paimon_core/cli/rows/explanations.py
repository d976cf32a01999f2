"""Explanations: which files a scan reads, and where the values of a row come from."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from paimon_core.cli.output.output import Output
from paimon_core.cli.rows.queries import view_of
from paimon_core.errors import InvalidRequest

if TYPE_CHECKING:
    from paimon_core.catalog.catalog import Catalog
    from paimon_core.table.view import TableView


def explain(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Print which files a scan reads, which it leaves out and why."""
    found = view_of(catalog, args).scan(args.columns, args.where).explain(analyze=args.analyze)
    out.say(str(found), found)
    return 0


def explain_row(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Print every stored version of one row, and which of them decided each column."""
    table = view_of(catalog, args)
    found = table.explain_row({name: value_of_text(table, name, text) for name, text in args.key.items()})
    out.say(str(found), found)
    return 0


def value_of_text(table: TableView, name: str, text: str) -> Any:
    """Return a text as a value of the column's type; raises InvalidRequest when it is none."""
    if (field := table.schema.by_name.get(name)) is None:
        return text
    try:
        return pa.scalar(text).cast(field.arrow.type).as_py()
    except pa.ArrowException:
        raise InvalidRequest(f"{text!r:.60} is no value of column {name!r}, which is {field.type}") from None

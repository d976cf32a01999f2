"""Merges: merges the rows of files or of a query into a table; without ``--apply`` the command only counts the rows."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from paimon_core.cli.catalogs.opening import table_of
from paimon_core.cli.output.output import Output
from paimon_core.cli.output.sentences import counted
from paimon_core.cli.rows.file_kinds import kind_of
from paimon_core.cli.rows.imports import file_options
from paimon_core.errors import InvalidRequest
from paimon_core.files.file_format import FileFormat
from paimon_core.frames.sql_query import rows_of

if TYPE_CHECKING:
    from paimon_core.catalog.catalog import Catalog
    from paimon_core.table.table import Table

IGNORE = "ignore"


def merge(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Update, insert and delete rows by the rows of a source, in one commit."""
    from paimon_core.table.rows.merge_clauses import Delete, Insert, Update, clauses_of
    from paimon_core.table.rows.merge_counts import count_merge

    if args.matched == args.not_matched == args.by_source == IGNORE:
        raise InvalidRequest("merge would do nothing: --matched, --not-matched and --by-source are all ignore")
    table = table_of(catalog, args)
    actions: dict[str, Any] = {"update": Update(), "delete": Delete(), "insert": Insert(), IGNORE: None}
    matched, not_matched, by_source = (actions[a] for a in (args.matched, args.not_matched, args.by_source))
    source = _rows_of_query(catalog, args) if args.sql else _rows_of_files(table, args)
    clauses = clauses_of(table.context, matched, not_matched, by_source)
    try:
        counts = count_merge(table.context, source, args.on, clauses)
    except InvalidRequest as error:
        raise InvalidRequest(_in_words_of_arguments(error.message), **error.facts) from error
    snapshot = None
    if args.apply:
        snapshot = table.merge(
            source,
            args.on,
            when_matched=matched,
            when_not_matched=not_matched,
            when_not_matched_by_source=by_source,
        )
    does = ("updated", "inserted", "deleted") if args.apply else ("would update", "would insert", "would delete")
    numbers = (counts.updated, counts.inserted, counts.deleted)
    parts = [f"{verb} {counted(number, 'row')}" for verb, number in zip(does, numbers, strict=True)]
    text = f"{counted(counts.source, 'row')} of the source: {', '.join(parts)} of {table.name}"
    if not args.apply:
        text += "\nnothing was changed: add --apply"
    else:
        text += ": nothing was committed" if snapshot is None else f": snapshot {snapshot.id}"
    value = {
        "table": table.name,
        "source_rows": counts.source,
        "updated": counts.updated,
        "inserted": counts.inserted,
        "deleted": counts.deleted,
        "applied": args.apply,
        "snapshot": None if snapshot is None else snapshot.id,
    }
    out.say(text, value)
    return 0


def _in_words_of_arguments(message: str) -> str:
    for words, argument in (
        ("pass when_matched=None", "add --matched ignore"),
        ("pass when_not_matched=None", "add --not-matched ignore"),
        ("the argument on ", "--on "),
        ("the columns on,", "the columns --on,"),
    ):
        message = message.replace(words, argument)
    return message


def _rows_of_query(catalog: Catalog, args: argparse.Namespace) -> pa.Table:
    for name in ("format", "columns"):
        if getattr(args, name):
            raise InvalidRequest(f"--{name} is for files, and --sql is given")
    if args.file_option:
        raise InvalidRequest("--file-option is for files, and --sql is given")
    if len(args.source) != 1:
        raise InvalidRequest(f"merge --sql takes one SELECT, not {len(args.source)} arguments: quote it as a whole")
    return rows_of(catalog.sql(args.source[0]))


def _rows_of_files(table: Table, args: argparse.Namespace) -> pa.Table:
    """Return the rows of all files, with the columns of the table that they have."""
    from paimon_core.files.columns import named_fields
    from paimon_core.files.reading import FileRules, read_split
    from paimon_core.files.splits import cut_files, list_files

    form = FileFormat.of(args.format or kind_of(args.source[0]), file_options(args.file_option))
    fields = named_fields(table.schema, args.columns, table.name)
    rules = FileRules(form, fields, fields, is_exact=args.columns is None)
    splits = [split for part in cut_files(list_files(args.source, None), form, 1) for split in part]
    pieces = [piece for split in splits for piece in read_split(split, rules)]
    return pa.concat_tables(pieces) if pieces else pa.schema([f.arrow for f in fields]).empty_table()

"""Imports: writes the rows of files of other programs to a table, in one commit."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from paimon_core.cli.catalogs.opening import table_of
from paimon_core.cli.output.output import Output
from paimon_core.cli.output.sentences import counted
from paimon_core.cli.parsing.values import key_values
from paimon_core.cli.rows.file_kinds import kind_of
from paimon_core.cli.rows.reject_file import Rejects
from paimon_core.files.file_format import FileFormat
from paimon_core.progress_meter import meter

if TYPE_CHECKING:
    from paimon_core.catalog.catalog import Catalog
    from paimon_core.metadata.snapshot import Snapshot
    from paimon_core.table.table import Table

REJECTED = 3
"""The exit code of an import that wrote rows and put others into the file of rejects."""


def import_files(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Write the rows of files to a table in one commit; return ``REJECTED`` when rows were rejected, else 0.

    Without ``--rejects`` a row that does not fit is an error, and nothing is written. Nothing is written or replaced
    either when all rows are rejected.
    """
    from paimon_core.files.columns import written_fields
    from paimon_core.files.reading import FileRules, read_split, rows_of_splits
    from paimon_core.files.splits import cut_files, list_files

    table = table_of(catalog, args)
    form = FileFormat.of(args.format or kind_of(args.file[0]), file_options(args.file_option))
    fields = written_fields(table.schema, args.columns, table.name)
    rejects = None if args.rejects is None else Rejects(args.rejects, form)
    receive = None if rejects is None else rejects.add
    rules = FileRules(form, fields, table.schema.fields, is_exact=args.columns is None, receive=receive)
    splits = [split for part in cut_files(list_files(args.file, None), form, 1) for split in part]
    read = [0]
    progress = meter("import", "bytes" if form.is_text else "rows")
    if progress.report is not None:
        is_text = form.is_text
        progress.total = sum(s.end - s.start for s in splits) if is_text else rows_of_splits(splits, form)

    def rows() -> Iterator[pa.RecordBatch]:
        for split in splits:
            for piece in read_split(split, rules, progress.advance):
                read[0] += len(piece)
                yield from piece.to_batches()
        progress.complete()
        if rejects is not None:
            rejects.publish()  # before the commit: a row is in the table or in this file

    with rejects or contextlib.nullcontext():
        batches = rows()
        first = [*islice(batches, 1)]
        # Where no row fits, the wrong files or options are likelier than a wish to empty the table.
        is_lost = not first and rejects is not None and rejects.number > 0
        snapshot = None if is_lost else _commit(table, chain(first, batches), args)
    result = {"table": table.name, "rows": read[0], "snapshot": None if snapshot is None else snapshot.id}
    done = "nothing was committed" if snapshot is None else f"snapshot {snapshot.id}"
    files = len({split.file.path for split in splits})
    absent = [name for name in table.schema.names if name not in {field.name for field in fields}]
    note = f"; null or the default: {', '.join(absent)}" if absent and snapshot is not None else ""
    number = 0 if rejects is None else rejects.number
    if number:
        note += f"; {counted(number, 'row')} rejected, with the reasons in {args.rejects}"
    text = f"{counted(read[0], 'row')} of {counted(files, 'file')}: {done}{note}"
    out.say(text, {**result, "columns_not_read": absent, "rejected": number})
    return REJECTED if number else 0


def _commit(table: Table, batches: Iterator[pa.RecordBatch], args: argparse.Namespace) -> Snapshot | None:
    data = pa.RecordBatchReader.from_batches(table.arrow_schema.remove_metadata(), batches)
    is_overwrite = args.overwrite or args.overwrite_where is not None
    return table.overwrite(data, args.overwrite_where) if is_overwrite else table.write(data)


def file_options(texts: list[str]) -> dict[str, Any]:
    """Return the values of ``--file-option``; true and false become booleans."""
    found = key_values("--file-option", texts)
    return {key: {"true": True, "false": False}.get(value.lower(), value) for key, value in found.items()}

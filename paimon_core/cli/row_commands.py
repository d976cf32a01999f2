"""Row commands: show, count, compare and query the rows of tables."""

from __future__ import annotations

import argparse
from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from paimon_core.cli.catalogs import table_of
from paimon_core.cli.cells import print_rows
from paimon_core.cli.output import Output
from paimon_core.errors import InvalidRequest
from paimon_core.frames.sql_query import rows_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from paimon_core.catalog.catalog import Catalog
    from paimon_core.table.changes.changes import Changes
    from paimon_core.table.table import Table
    from paimon_core.table.view import TableView


def view_of(catalog: Catalog, args: argparse.Namespace) -> Table | TableView:
    """Open the table at the branch and at the snapshot, tag or time that the arguments name."""
    table = table_of(catalog, args)
    given = {name: value for name in ("snapshot", "tag", "time") if (value := getattr(args, name)) is not None}
    return table.at(**given) if given else table


def head(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Print the first rows that a scan returns."""
    rows = view_of(catalog, args).scan(args.columns, args.where, _count(args.n)).to_arrow()
    print_rows(out, rows, "no rows")
    return 0


def tail(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Print the last changes of a table, the newest last: rows with their row kinds and snapshots."""
    table = table_of(catalog, args)
    latest, wanted = table.latest_snapshot(), _count(args.n)
    if latest is None:
        print_rows(out, pa.table({}), "no rows")
        return 0
    kept: list[pa.Table] = []
    first = table.context.snapshots.earliest_id() or latest.id
    for end in range(latest.id, first - 1, -1):
        if end == first and first > 1:
            break  # the changes of the oldest snapshot need the expired one before it
        found = table.changes(end - 1, end, columns=args.columns, with_commit=True)
        kept.insert(0, last_rows(found.to_batches(), found.schema, wanted))
        wanted -= len(kept[0])
        if not wanted:
            break
    print_rows(out, pa.concat_tables(kept) if kept else pa.table({}), "no changes in the snapshots that exist")
    return 0


def last_rows(batches: Iterable[pa.RecordBatch], schema: pa.Schema, count: int) -> pa.Table:
    """Return the last ``count`` rows of the batches; holds no batch that comes before these rows."""
    kept: deque[pa.RecordBatch] = deque()
    held = 0
    for batch in batches:
        kept.append(batch)
        held += len(batch)
        while kept and held - len(kept[0]) >= count:
            held -= len(kept.popleft())
    return pa.Table.from_batches(kept, schema).slice(max(0, held - count))


def sample(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Print rows that are drawn at random from all rows of a scan, each with the same probability."""
    scan = view_of(catalog, args).scan(args.columns, args.where)
    print_rows(out, drawn(scan.to_batches(), scan.schema, _count(args.n), args.seed), "no rows")
    return 0


def drawn(batches: Iterable[pa.RecordBatch], schema: pa.Schema, count: int, seed: int | None) -> pa.Table:
    """Return ``count`` rows of the batches, drawn at random without repetition; all rows when there are fewer.

    Each row gets a random number, and the rows with the smallest numbers are kept.
    """
    random = np.random.default_rng(seed)
    kept, numbers = schema.empty_table(), np.zeros(0)
    for batch in batches:
        own = random.random(len(batch))
        best = _least(own, count)
        kept = pa.concat_tables([kept, pa.Table.from_batches([batch]).take(pa.array(best))])
        numbers = np.concatenate([numbers, own[best]])
        best = _least(numbers, count)
        kept, numbers = kept.take(pa.array(best)), numbers[best]
    return kept


def _least(numbers: Any, count: int) -> Any:
    """Return the positions of the ``count`` least numbers, in order."""
    if len(numbers) <= count:
        return np.arange(len(numbers))
    return np.sort(np.argpartition(numbers, count)[:count])


def count(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Print the number of rows, for each partition if that is asked for."""
    scan = view_of(catalog, args).scan(where=args.where)
    if args.by_partition:
        print_rows(out, scan.count_by_partition(), "no rows")
        return 0
    rows = scan.count()
    out.say(str(rows), {"rows": rows})
    return 0


def changes(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Print the changes between two versions: rows with their row kinds."""
    found = table_of(catalog, args).changes(
        _bound(args.start), _bound(args.end), columns=args.columns, where=args.where, with_commit=True
    )
    return _print_changes(found, args, out)


def diff(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Print the rows in which two versions differ, or only their number."""
    found = table_of(catalog, args).diff(_bound(args.a), _bound(args.b), args.columns)
    if not args.summary:
        return _print_changes(found, args, out)
    total = found.summary()
    columns = ", ".join(f"{name} {number:,}" for name, number in total.columns.items())
    text = f"{total.added:,} added, {total.removed:,} removed, {total.changed:,} changed"
    out.say(f"{text}{f'; changed values by column: {columns}' if columns else ''}", total)
    return 0


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


def sql(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Print the result of a SELECT over the tables of the catalog."""
    limit = _count(args.limit)
    rows = rows_of(catalog.sql(args.query).limit(limit + 1))
    note = f"(the first {limit:,} rows: --limit N prints more)" if len(rows) > limit else ""
    print_rows(out, rows.slice(0, limit), "no rows", note)
    return 0


def value_of_text(table: TableView, name: str, text: str) -> Any:
    """Return a text as a value of the column's type; raises InvalidRequest when it is none."""
    if (field := table.schema.by_name.get(name)) is None:
        return text
    try:
        return pa.scalar(text).cast(field.arrow.type).as_py()
    except pa.ArrowException:
        raise InvalidRequest(f"{text!r:.60} is no value of column {name!r}, which is {field.type}") from None


def _print_changes(found: Changes, args: argparse.Namespace, out: Output) -> int:
    rows, is_more = first_rows(found.to_batches(), found.schema, _count(args.limit))
    note = f"(the first {args.limit:,} rows: --limit N prints more)" if is_more else ""
    print_rows(out, rows, "no changes", note)
    return 0


def first_rows(batches: Iterable[pa.RecordBatch], schema: pa.Schema, count: int) -> tuple[pa.Table, bool]:
    """Return the first ``count`` rows of the batches, and whether there are more; reads no batch after that."""
    kept: list[pa.RecordBatch] = []
    held = 0
    for batch in batches:
        kept.append(batch)
        held += len(batch)
        if held > count:
            break
    return pa.Table.from_batches(kept, schema).slice(0, count), held > count


def _count(number: int) -> int:
    if number < 0:
        raise InvalidRequest(f"the number of rows must be 0 or more, not {number}")
    return number


def _bound(text: str | None) -> Any:
    """Return a snapshot id as a number; the name of a tag or a time stays a text."""
    return int(text) if text is not None and text.isdecimal() else text

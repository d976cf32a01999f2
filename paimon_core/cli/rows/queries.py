"""Queries: show, count and query the rows of tables."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from paimon_core.cli.catalogs.opening import table_of
from paimon_core.cli.output.cells import print_limited, print_rows
from paimon_core.cli.output.output import Output
from paimon_core.cli.parsing.adding import LIMIT
from paimon_core.errors import InvalidRequest
from paimon_core.frames.sql_query import rows_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from paimon_core.catalog.catalog import Catalog
    from paimon_core.table.table import Table
    from paimon_core.table.view import TableView

_MOST_ROWS = 1 << 62
"""More rows than any table has; Arrow and DuckDB take no larger number."""


def view_of(catalog: Catalog, args: argparse.Namespace) -> Table | TableView:
    """Open the table at the branch and at the snapshot, tag or time that the arguments name."""
    table = table_of(catalog, args)
    given = {name: value for name in ("snapshot", "tag", "time") if (value := getattr(args, name)) is not None}
    return table.at(**given) if given else table


def head(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Print the first rows that a scan returns."""
    count = checked_count(args.n)
    rows = view_of(catalog, args).scan(args.columns, args.where, count).to_arrow()
    print_rows(out, rows, nothing_of(count))
    return 0


def sample(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Print rows that are drawn at random from all rows of a scan, each with the same probability."""
    if args.seed is not None and args.seed < 0:
        raise InvalidRequest(f"--seed must be 0 or more, not {args.seed}")
    scan = view_of(catalog, args).scan(args.columns, args.where)
    count = checked_count(args.n)
    print_rows(out, drawn(scan.to_batches(), scan.schema, count, args.seed), nothing_of(count))
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


def sql(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Print the result of a SELECT over the tables of the catalog."""
    limit = LIMIT if args.limit is None else checked_count(args.limit)
    rows = rows_of(catalog.sql(args.query, group=args.group).limit(limit + 1))
    print_limited(out, rows, limit, "no rows")
    return 0


def nothing_of(count: int) -> str:
    """Return the text for no rows; it says nothing about the table when 0 rows were asked for."""
    return "no rows" if count else "0 rows were asked for"


def checked_count(number: int) -> int:
    """Return a number of rows of an argument, at most more than any table has.

    Raises InvalidRequest when it is negative.
    """
    if number < 0:
        raise InvalidRequest(f"the number of rows must be 0 or more, not {number}")
    return min(number, _MOST_ROWS)

"""Report: writes the health of a table, of the tables of a database, or of all tables as one HTML page."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from paimon_core.cli.health.doctor import FAILED, each_table
from paimon_core.cli.output.output import Output, replace_file
from paimon_core.errors import InvalidRequest

if TYPE_CHECKING:
    from paimon_core.catalog.catalog import Catalog
    from paimon_core.table.table import Table

ENDING = ".html"


def report(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Write the page to ``--output``, or print it; return 1 when one of several tables could not be examined.

    Raises InvalidRequest for an output whose name does not end with ``.html`` or that cannot be written, for ``--json``
    without an output (JSON states how many tables were examined, not the page), and for ``--branch`` without a table.
    """
    target = None if args.output is None else Path(args.output)
    if target is not None and target.suffix != ENDING:
        raise InvalidRequest(
            f"--output must end with {ENDING}, so that no other file is replaced: {args.output!r:.200}"
        )
    if target is None and out.as_json:
        raise InvalidRequest("--json needs --output FILE.html: without it, the page is printed")
    is_table = "." in (args.target or "")
    if args.branch and not is_table:
        raise InvalidRequest("--branch needs the name of a table")
    failures: list[tuple[str, str]] = []
    if is_table:
        table = catalog.table(args.target)
        text, count = (table.branch(args.branch) if args.branch else table).report(), 1
    else:
        text, count, failures = _of_many(catalog, args.target)
    if target is None:
        out.say(text.removesuffix("\n"), None)
    else:
        replace_file(target, text)
        lines = [f"{target}: {count} table{'' if count == 1 else 's'}"]
        lines += [f"{name} could not be examined: {error}" for name, error in failures]
        failed = [{"table": name, "error": error} for name, error in failures]
        out.say("\n".join(lines), {"output": str(target), "tables": count, "failures": failed})
    return FAILED if failures else 0


def _of_many(catalog: Catalog, database: str | None) -> tuple[str, int, list[tuple[str, str]]]:
    """Return the page, the number of tables that were examined, and the name and error of each that was not."""
    from paimon_core.health.page.page import LakePage

    page = LakePage(f"Health of database {database}" if database else "Health of all tables")

    def examine(name: str) -> None:
        table: Table = catalog.table(name)
        page.add(table.context, table.latest_snapshot())

    for name, error in each_table(catalog, database, examine):
        if error is not None:
            page.fail(name, f"{error.kind}: {error}")
    return page.text(), len(page.healths), page.failures

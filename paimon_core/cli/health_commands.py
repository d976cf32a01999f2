"""Health commands: ``doctor`` tells what is wrong with tables and mends it, ``top`` lists tables by size and cost."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from paimon_core.cli.output import Output, plain, sentence
from paimon_core.errors import InvalidRequest, PaimonError
from paimon_core.health.finding import Finding, Health, Severity
from paimon_core.health.thresholds import Thresholds

if TYPE_CHECKING:
    from paimon_core.catalog.catalog import Catalog
    from paimon_core.table.table import Table

ORDERS = ("size", "files", "growth", "cost", "score")
FAILED, WARNINGS, ERRORS = 1, 3, 4


def doctor(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Print the health of tables, the worst first; with ``--fix``, mend them and print what is left.

    Return 0 when there are no findings, 3 for warnings, 4 for errors, 1 when a table could not be read or mended.
    """
    thresholds = Thresholds.of(dict(map(_threshold, args.threshold)))
    if args.branch and "." not in (args.target or ""):
        raise InvalidRequest("--branch needs the name of a table")
    found: list[Health] = []
    failures: list[dict[str, str]] = []
    mends: list[dict[str, Any]] = []
    for name in table_names(catalog, args.target):
        try:
            table = catalog.table(name)
            table = table.branch(args.branch) if args.branch else table
            health = table.health(thresholds)
            if args.fix is not None:
                health = _mended(table, health, args.fix, thresholds, mends, out)
        except PaimonError as error:
            if name == args.target:
                raise
            failures.append({"table": name, "error": f"{error.kind}: {error}"})
        else:
            found.append(health)
    found.sort(key=lambda health: (health.score, health.table))
    ill = [health for health in found if not health.is_healthy]
    texts = [health.text() for health in (ill if len(found) > 1 else found)]
    if len(found) > 1:
        texts.append(f"{len(found) - len(ill)} of {len(found)} tables have no findings")
    texts += [f"{one['table']} could not be examined: {one['error']}" for one in failures]
    value = {"tables": [health.to_plain() for health in found], "mends": mends, "failures": failures}
    out.say("\n".join(texts) or "no tables", value)
    if failures or any("error" in one for one in mends):
        return FAILED
    severities = {finding.severity for health in ill for finding in health.findings}
    return ERRORS if Severity.ERROR in severities else WARNINGS if severities else 0


def top(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Print the tables with the most bytes, files, growth or cost; return 1 when a table could not be read."""
    if args.limit < 1:
        raise InvalidRequest(f"--limit must be 1 or more, not {args.limit}")
    header = ("table", "score", "bytes", "files", "rows_in_files", "bytes_a_day", "read_cost", "space", "findings")
    rows: list[tuple[object, ...]] = []
    failures = 0
    for name in table_names(catalog, args.database):
        try:
            health = catalog.table(name).health()
        except PaimonError as error:
            failures += 1
            rows.append((name, None, None, None, None, None, None, None, f"{error.kind}: {error}"))
            continue
        m = health.measures
        rows.append(
            (
                name,
                health.score,
                int(m["live_bytes"]),
                int(m["files"]),
                int(m["rows_in_files"]),
                int(m["written_bytes_a_day"]),
                m["read_amplification"],
                m["space_amplification"],
                len(health.findings),
            )
        )
    column = header.index({"size": "bytes", "growth": "bytes_a_day", "cost": "read_cost"}.get(args.by, args.by))
    sign = 1 if args.by == "score" else -1  # the lowest score is the worst
    rows.sort(key=lambda row: (row[column] is None, sign * float(str(row[column] or 0)), str(row[0])))
    out.table(header, rows[: args.limit], "no tables")
    return FAILED if failures else 0


def table_names(catalog: Catalog, target: str | None) -> Iterator[str]:
    """Yield the names of the table, of the tables of the database, or of all tables."""
    if target is not None and "." in target:
        yield target
        return
    for database in [target] if target else catalog.list_databases():
        yield from (f"{database}.{name}" for name in catalog.list_tables(database))


def _threshold(text: str) -> tuple[str, float | int]:
    name, _, number = text.partition("=")
    try:
        return name.replace("-", "_"), int(number) if number.isdecimal() else float(number)
    except ValueError:
        raise InvalidRequest(f"--threshold takes NAME=NUMBER, not {text!r:.60}") from None


def _mended(
    table: Table, health: Health, names: Sequence[str], thresholds: Thresholds, mends: list[dict[str, Any]], out: Output
) -> Health:
    """Run the mends one after the other, each for what is found then, and return the health that is left."""
    tried: set[str] = set()
    while (finding := _next(health, names, tried)) is not None:
        tried.add(finding.name)
        if not out.as_json:
            out.say(f"{table.name} {finding.name}: {finding.command} ({finding.mend_cost})", None)
        done: dict[str, Any] = {"table": table.name, "finding": finding.name, "command": finding.command}
        try:
            report = table.mend(finding)
        except PaimonError as error:
            done["error"] = f"{error.kind}: {error}"
        else:
            done["report"] = plain(report)
        mends.append(done)
        if not out.as_json:
            out.say(f"  {done.get('error') or sentence(report)}", None)
        table = table.refresh()
        health = table.health(thresholds)
    return health


def _next(health: Health, names: Sequence[str], tried: set[str]) -> Finding | None:
    for finding in health.findings:
        if finding.name not in tried and (finding.name in names if names else finding.safe):
            return finding
    return None

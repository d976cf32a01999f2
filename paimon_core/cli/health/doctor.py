"""Doctor: what is wrong with tables and mends it, tables by size or cost, and measures of tables."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from paimon_core.cli.catalogs.opening import place_words
from paimon_core.cli.catalogs.unfinished import old_unfinished, unfinished_plain, unfinished_text
from paimon_core.cli.output.output import Output, plain, replace_file
from paimon_core.cli.output.sentences import sentence
from paimon_core.errors import InvalidRequest, NotFound, PaimonError
from paimon_core.health.finding import Finding, Health, Severity
from paimon_core.health.metrics import open_metrics
from paimon_core.health.otlp import ENDPOINT, otlp_endpoint, send_metrics
from paimon_core.health.thresholds import Thresholds
from paimon_core.table.upkeep.mends import Mend, mend_table

if TYPE_CHECKING:
    from paimon_core.catalog.catalog import Catalog

_T = TypeVar("_T")

ORDERS = ("size", "files", "growth", "cost", "score")

FAILED, WARNINGS, ERRORS = 1, 3, 4


def doctor(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Print the health of tables, the worst first; with ``--fix``, run mends first and print the findings that remain.

    It also names what killed copies left in the databases. Return 1 when a table could not be read or mended; otherwise
    4 when a finding is an error, 3 when there are other findings or leftovers, and 0 when there are none.
    """
    given = [_threshold(text) for text in args.threshold]
    for number, (threshold, _) in enumerate(given):
        if threshold in dict(given[:number]):
            raise InvalidRequest(f"--threshold gives {threshold!r:.60} twice")
    thresholds = Thresholds.of(dict(given))
    if args.branch and "." not in (args.target or ""):
        raise InvalidRequest("--branch needs the name of a table")
    found: list[Health] = []
    failures: list[dict[str, str]] = []
    mends: list[dict[str, Any]] = []

    def examine(name: str) -> Health:
        table = catalog.table(name)
        table = table.branch(args.branch) if args.branch else table
        if args.fix is None:
            return table.health(thresholds)
        health, done = mend_table(table, args.fix, thresholds, partial(_say_plan, out, name))
        mends.extend(_told(out, name, one) for one in done)
        return health

    place = place_words(args)
    for name, health in each_table(catalog, args.target, examine):
        if isinstance(health, PaimonError):
            failures.append({"table": name, "error": f"{health.kind}: {health}"})
        else:
            found.append(_placed(health, place))
    found.sort(key=lambda health: (health.score, health.table))
    ill = [health for health in found if not health.is_healthy]
    texts = [health.text() for health in (ill if len(found) > 1 else found)]
    if len(found) > 1:
        texts.append(f"{len(found) - len(ill)} of {len(found)} tables have no findings")
    texts += [f"{one['table']} could not be examined: {one['error']}" for one in failures]
    left = old_unfinished(catalog, args.target)
    remedy = " ".join(filter(None, ("paimon-core orphans unfinished", args.target, place)))
    texts += [f"{unfinished_text(one)}; {remedy} --apply removes it" for one in left]
    value = {
        "tables": [health.to_plain() for health in found],
        "mends": mends,
        "failures": failures,
        "unfinished": [unfinished_plain(one) for one in left],
    }
    out.say("\n".join(texts) or "no tables", value)
    if failures or any("error" in one for one in mends):
        return FAILED
    severities = {finding.severity for health in ill for finding in health.findings}
    return ERRORS if Severity.ERROR in severities else WARNINGS if severities or left else 0


def top(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Print the tables with the most bytes, files, growth or read cost, or with the lowest scores, as ``--by`` says.

    Return 1 when a table could not be read.
    """
    if args.limit < 1:
        raise InvalidRequest(f"--limit must be 1 or more, not {args.limit}")
    header = ("table", "score", "bytes", "files", "rows_in_files", "bytes_a_day", "read_cost", "space", "findings")
    rows: list[tuple[object, ...]] = []
    failures = 0
    for name, health in each_table(catalog, args.database, lambda name: catalog.table(name).health()):
        if isinstance(health, PaimonError):
            failures += 1
            rows.append((name, None, None, None, None, None, None, None, f"{health.kind}: {health}"))
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


def metrics(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Print the measures of tables as OpenMetrics text, write them to a file, or send them to a collector.

    Return 1 when a table could not be read.
    """
    if args.otlp is not None and args.output is not None:
        raise InvalidRequest("--otlp sends the metrics and --output writes them to a file: give one of both")
    if args.otlp is not None and otlp_endpoint(args.otlp) is None:
        raise InvalidRequest(f"--otlp needs the URL of a collector, or the environment variable {ENDPOINT}")
    healths: list[Health] = []
    failures: dict[str, str] = {}
    for name, health in each_table(catalog, args.target, lambda name: catalog.table(name).health()):
        if isinstance(health, PaimonError):
            failures[name] = f"{health.kind}: {health}"
        else:
            healths.append(health)
    value: dict[str, Any] = {"tables": [health.to_plain() for health in healths], "failures": failures}
    if args.otlp is not None:
        sent = send_metrics(healths, failures, args.otlp)
        out.say(f"sent {sent:,} values of {len(healths)} tables", value | {"sent": sent})
    else:
        text = open_metrics(healths, failures)
        if args.output is not None:
            replace_file(args.output, text)
        if args.json or args.output is None:
            out.say(text.removesuffix("\n"), value)
    for name, reason in failures.items():
        sys.stderr.write(f"paimon-core metrics: {name}: {reason}\n")
    return FAILED if failures else 0


def each_table(
    catalog: Catalog, target: str | None, examine: Callable[[str], _T]
) -> Iterator[tuple[str, _T | PaimonError]]:
    """Yield the name of each table, and what ``examine`` returns for the name or the PaimonError that it raises.

    ``target`` names a table or a database; None stands for all tables. A table that is dropped after the listing is
    left out. When ``target`` names a table, an error of ``examine`` is raised and not yielded.
    """
    if target is not None and "." in target:
        yield target, examine(target)
        return
    for database in [target] if target is not None else catalog.list_databases():
        for name in catalog.list_tables(database):
            try:
                yield f"{database}.{name}", examine(f"{database}.{name}")
            except PaimonError as error:
                if not isinstance(error, NotFound) or _is_listed(catalog, database, name):
                    yield f"{database}.{name}", error


def _placed(health: Health, place: str) -> Health:
    """Return the health; ``place``, the arguments that name the catalog, is appended to the commands of findings."""
    if not place:
        return health
    findings = [dataclasses.replace(f, commands=tuple(f"{one} {place}" for one in f.commands)) for f in health.findings]
    return dataclasses.replace(health, findings=tuple(findings))


def _is_listed(catalog: Catalog, database: str, name: str) -> bool:
    try:
        return name in catalog.list_tables(database)
    except NotFound:  # the database was dropped, too
        return False


def _threshold(text: str) -> tuple[str, float | int]:
    name, _, number = text.partition("=")
    try:
        return name.replace("-", "_"), int(number) if number.isdecimal() else float(number)
    except ValueError:
        raise InvalidRequest(f"--threshold takes NAME=NUMBER, not {text!r:.60}") from None


def _say_plan(out: Output, table: str, finding: Finding) -> None:
    if not out.as_json:
        out.say(f"{table} {finding.name}: {finding.command} ({finding.mend_cost})", None)


def _told(out: Output, table: str, mend: Mend) -> dict[str, Any]:
    if not out.as_json:
        out.say(f"{table} {mend.finding.name}: {mend.error or sentence(mend.report)}", None)
    result = {"error": mend.error} if mend.error else {"report": plain(mend.report)}
    return {"table": table, "finding": mend.finding.name, "command": mend.finding.command, **result}

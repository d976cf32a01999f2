"""Arguments of the commands that check tables."""

from __future__ import annotations

from pathlib import Path

from paimon_core.cli.health import checks, doctor, maintenance, report
from paimon_core.cli.parsing.adding import Commands, add_command
from paimon_core.cli.parsing.values import number
from paimon_core.health.finding import FINDINGS


def add_health(found: Commands) -> None:
    """Add the commands that examine and maintain tables."""
    examine = add_command(
        found,
        "doctor",
        "tell what is wrong with tables, what it costs and what mends it",
        doctor.doctor,
        table=False,
    )
    examine.add_argument(
        "target", nargs="?", metavar="DATABASE[.TABLE]", help="only this table or database (default: all tables)"
    )
    examine.add_argument("--branch", help="branch of the table (default: main)")
    examine.add_argument(
        "--fix",
        nargs="*",
        metavar="FINDING",
        choices=FINDINGS,
        help="show the mends and run them: all that are safe, or the findings that are named",
    )
    examine.add_argument(
        "--threshold", action="append", default=[], metavar="NAME=NUMBER", help="from when on something is a finding"
    )
    maintain = add_command(
        found,
        "maintain",
        "do the maintenance that is worth its cost, within a budget",
        maintenance.maintain,
        table=False,
    )
    maintenance.add_arguments(maintain)
    metrics = add_command(found, "metrics", "print measures of tables as OpenMetrics text", doctor.metrics, table=False)
    metrics.add_argument(
        "target", nargs="?", metavar="DATABASE[.TABLE]", help="only this table or database (default: all tables)"
    )
    metrics.add_argument("--output", type=Path, metavar="FILE", help="replace this file instead of printing")
    metrics.add_argument(
        "--otlp",
        nargs="?",
        const="",
        metavar="URL",
        help="send the metrics to this OpenTelemetry collector instead of printing (default: the URL in "
        "OTEL_EXPORTER_OTLP_ENDPOINT)",
    )
    top = add_command(found, "top", "list tables by size, files, growth or cost", doctor.top, table=False)
    top.add_argument("database", nargs="?", help="only the tables of this database")
    top.add_argument("--by", choices=doctor.ORDERS, default="size", help="the order (default: size)")
    top.add_argument("--limit", type=number, default=20, metavar="N", help="at most so many tables (default: 20)")
    page = add_command(found, "report", "write the health of tables as an HTML page", report.report, table=False)
    page.add_argument(
        "target", nargs="?", metavar="DATABASE[.TABLE]", help="only this table or database (default: all tables)"
    )
    page.add_argument("--branch", help="branch of the table (default: main)")
    page.add_argument("--output", metavar="FILE.html", help="the file to write or replace (default: print the page)")


def add_fsck(found: Commands) -> None:
    """Add the command that checks invariants."""
    check = add_command(
        found, "fsck", "check the invariants of a table and all of its branches", checks.fsck, branch=False
    )
    check.add_argument("--deep", action="store_true", help="also read all rows")

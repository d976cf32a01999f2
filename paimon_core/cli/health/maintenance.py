"""Maintenance: does the maintenance of tables that is worth its cost, within one budget, the best first."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from paimon_core.cli.health.doctor import FAILED, each_table
from paimon_core.cli.output.output import Output
from paimon_core.cli.parsing.values import seconds, size
from paimon_core.errors import InvalidRequest, PaimonError
from paimon_core.health.plan.candidates import ACTIONS, SAFE_ACTIONS, Budget

if TYPE_CHECKING:
    from paimon_core.catalog.catalog import Catalog
    from paimon_core.table.table import Table


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the arguments of ``maintain``."""
    command.add_argument(
        "target", nargs="?", metavar="DATABASE[.TABLE]", help="only this table or database (default: all tables)"
    )
    command.add_argument("--branch", help="branch of the table (default: main)")
    command.add_argument("--bytes", type=size, metavar="SIZE", help="read and write at most this, such as '10 gb'")
    command.add_argument(
        "--seconds", type=seconds, metavar="SECONDS", help="start nothing that would end later, such as 600 or '10 min'"
    )
    command.add_argument("--memory", type=size, metavar="SIZE", help="take at most this memory, such as '4 gb'")
    command.add_argument(
        "--action",
        action="append",
        choices=ACTIONS,
        help=f"only this kind of work; may be repeated (default: {', '.join(SAFE_ACTIONS)})",
    )
    command.add_argument("--dry-run", action="store_true", help="print the plan and change nothing")
    command.add_argument(
        "--no-log", action="store_true", help="neither learn from sys.maintenance nor add the outcomes to it"
    )


def maintain(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Print the plan, run it and print the outcomes; with ``--dry-run``, only print the plan.

    Return 1 when a table could not be examined, when work failed for another reason than a concurrent commit or rests
    because it failed in an earlier run, or when the log could not be written.
    """
    from paimon_core.table.upkeep.maintenance_plan import plan_tables  # would make `--help` slow

    if args.branch and "." not in (args.target or ""):
        raise InvalidRequest("--branch needs the name of a table")
    tables: list[Table] = []
    unreadable: dict[str, str] = {}

    def opened(name: str) -> Table:
        table = catalog.table(name)
        return table.branch(args.branch) if args.branch else table

    for name, table in each_table(catalog, args.target, opened):
        if isinstance(table, PaimonError):
            unreadable[name] = f"{table.kind}: {table}"
        else:
            tables.append(table)
    log = None if args.no_log else catalog.maintenance_log()
    budget = Budget(args.bytes, args.seconds, args.memory)
    is_one = "." in (args.target or "")
    plan = plan_tables(
        tables, budget, actions=args.action or SAFE_ACTIONS, log=log, unreadable=None if is_one else unreadable
    )
    failures = {**plan.failing, **plan.unreadable}
    value = {"plan": plan.to_plain(), "failures": failures}
    if args.dry_run:
        out.say(plan.text(), value)
        return FAILED if failures else 0
    if not out.as_json:
        out.say(plan.text(), None)
    report = plan.run()
    out.say(report.text(), {**value, **report.to_plain()})
    return FAILED if failures or report.failed or report.log_error else 0

"""Plans: prints the plan of a removal, rollback or repair; --apply, or later `apply FILE`, applies the plan."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from paimon_core.cli.catalogs.opening import damaged_table_of, opened, table_of
from paimon_core.cli.output.output import Output
from paimon_core.cli.output.sentences import sentence
from paimon_core.cli.parsing.adding import Command, Commands, add_command
from paimon_core.errors import InvalidRequest

if TYPE_CHECKING:
    from paimon_core.catalog.catalog import Catalog
    from paimon_core.maintain.planning.plan import Plan
    from paimon_core.table.table import Table

MOST_SHOWN = 20

Planner = Callable[["Table", argparse.Namespace], "Plan"]


def planned(planner: Planner) -> Command:
    """Return the command that creates a plan and prints it, writes it to a file, or applies it."""

    def command(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
        table = damaged_table_of(catalog, args) if args.command == "repair" else table_of(catalog, args)
        plan = planner(table, args)
        if args.plan_out:
            _write(args.plan_out, plan)
            out.say(f"{plan.sentence()}\nwritten to {args.plan_out}; the plan was not applied", _plain(plan))
        elif args.apply:
            done = table.maintenance.apply(plan)
            out.say(f"{plan.sentence()}\ndone: {_done(plan, done)}", done)
        else:
            out.say(f"{_shown(plan)}\nthe plan was not applied: add --apply, or --plan-out FILE", _plain(plan))
        return 0

    return command


def apply(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Apply a plan that was written to a file."""
    try:
        data = Path(args.file).read_bytes()
    except OSError as error:
        raise InvalidRequest(f"cannot read the plan {args.file}: {error.strerror}") from None
    from paimon_core.maintain.planning.plan import Plan

    plan = Plan.from_bytes(data)
    table = opened(catalog, plan.table) if plan.operation == "repair" else catalog.table(plan.table)
    table = table if table.context.branch == plan.branch else table.branch(plan.branch)
    done = table.maintenance.apply(plan)
    out.say(f"{plan.sentence()}\ndone: {_done(plan, done)}", done)
    return 0


def _done(plan: Plan, done: object) -> str:
    """Return the report as text; if the report lists only files, the objects that the plan removes are listed first."""
    from paimon_core.maintain.references.removable_files import Removal

    if not isinstance(done, Removal):
        return sentence(done)
    return ", ".join(plan.subjects) + (f"; {sentence(done)}" if done.paths else "")


def _write(path: str, plan: Plan) -> None:
    try:
        Path(path).write_bytes(plan.to_bytes())
    except OSError as error:
        raise InvalidRequest(f"cannot write the plan {path}: {error.strerror}") from None


def _plain(plan: Plan) -> object:
    return json.loads(plan.to_bytes())


def _shown(plan: Plan) -> str:
    lines = [plan.sentence()]
    for words, items in (
        ("remove", plan.subjects),
        ("file", [f"{f.path} ({f.size:,} bytes)" for f in plan.files]),
        ("keep", [f"{p.what}, because of {p.by}" for p in plan.protected]),
    ):
        lines += [f"  {words}: {item}" for item in items[:MOST_SHOWN]]
        lines += [f"  {words}: ... {len(items) - MOST_SHOWN} more"] if len(items) > MOST_SHOWN else []
    lines += [f"  then: {text}" for text in plan.arguments.get("advice", ())]
    return "\n".join(lines)


def add_planned(found: Commands, name: str, text: str, plan: Planner) -> argparse.ArgumentParser:
    """Add a command that makes a plan."""
    command = add_command(found, name, text, planned(plan))
    _add_plan_arguments(command)
    return command


def _add_plan_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of commands that make a plan: ``--apply`` and ``--plan-out``."""
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--apply", action="store_true", help="apply the plan; without this option the plan is only printed"
    )
    what.add_argument("--plan-out", metavar="FILE", help="write the plan to a file, for the command `apply`")

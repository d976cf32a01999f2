"""The commands that remove something: they print a plan, and do it with --apply, or later with `apply FILE`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from paimon_core.cli.catalogs import table_of
from paimon_core.cli.output import Output, sentence
from paimon_core.errors import InvalidRequest

if TYPE_CHECKING:
    from paimon_core.catalog.catalog import Catalog
    from paimon_core.maintain.planning.plan import Plan
    from paimon_core.table.table import Table

MOST_SHOWN = 20
Planner = Callable[["Table", argparse.Namespace], "Plan"]
Command = Callable[["Catalog", argparse.Namespace, Output], int]


def planned(plan: Planner) -> Command:
    """The command of a plan: it is shown, written to a file, or done."""

    def command(catalog: Catalog, asked: argparse.Namespace, out: Output) -> int:
        table = table_of(catalog, asked)
        made = plan(table, asked)
        if asked.plan_out:
            _write(asked.plan_out, made)
            out.say(f"{made.sentence()}\nwritten to {asked.plan_out}: nothing was done", _plain(made))
        elif asked.apply:
            done = table.maintenance.apply(made)
            out.say(f"{made.sentence()}\ndone: {_done(made, done)}", done)
        else:
            out.say(f"{_shown(made)}\nnothing was done: add --apply, or --plan-out FILE", _plain(made))
        return 0

    return command


def apply(catalog: Catalog, asked: argparse.Namespace, out: Output) -> int:
    """Do what a plan of a file says."""
    try:
        data = Path(asked.file).read_bytes()
    except OSError as error:
        raise InvalidRequest(f"cannot read the plan {asked.file}: {error.strerror}") from None
    from paimon_core.maintain.planning.plan import Plan

    plan = Plan.from_bytes(data)
    table = catalog.table(plan.table)
    table = table if table.context.branch == plan.branch else table.branch(plan.branch)
    done = table.maintenance.apply(plan)
    out.say(f"{plan.sentence()}\ndone: {_done(plan, done)}", done)
    return 0


def _done(plan: Plan, done: object) -> str:
    """What was done; a report that tells of files alone does not name what went with them."""
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
        ("goes", plan.subjects),
        ("file", [f"{f.path} ({f.size:,} bytes)" for f in plan.files]),
        ("stays", [f"{p.what}, because of {p.by}" for p in plan.protected]),
    ):
        lines += [f"  {words}: {item}" for item in items[:MOST_SHOWN]]
        lines += [f"  {words}: ... {len(items) - MOST_SHOWN} more"] if len(items) > MOST_SHOWN else []
    return "\n".join(lines)

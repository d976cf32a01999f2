"""Selectors: the arguments that name tables, ``paimon-lake show shop.orders`` or ``show --table shop.orders``.

All commands for tables take both forms: the names stand behind the command, or behind ``--table``.
"""

from __future__ import annotations

import argparse

from paimon_lake.declarations import Settings
from paimon_lake.declarations.agreement.selection import CHANGED, has_changed, ordered, selected
from paimon_lake.protocol import PipelineError
from paimon_lake.steps.changed import changed_tables

_HELP = (
    "names of tables, tag:NAME, group:NAME, or changed, with --state; a + before it adds the inputs, a + after it the "
    "tables that are made from it"
)
_STATE = "an earlier folder of the declarations: changed selects the tables whose definition differs from there"


def add_selectors(command: argparse.ArgumentParser) -> None:
    """Add ``SELECTOR ...``, ``--table`` and ``--state``; ``named`` joins the first two."""
    command.add_argument("tables", nargs="*", metavar="SELECTOR", help=_HELP)
    command.add_argument("--table", nargs="+", action="extend", metavar="SELECTOR", help="the same")
    command.add_argument("--state", metavar="PATH", help=_STATE)


def add_table(command: argparse.ArgumentParser, *, required: bool = True) -> None:
    """Add ``DATABASE.TABLE`` and ``--table``, for one table; ``named`` joins them."""
    command.add_argument("tables", nargs="?", metavar="DATABASE.TABLE", help="the table")
    command.add_argument("--table", metavar="DATABASE.TABLE", help="the same")
    command.set_defaults(needs_table=required)


def named(asked: argparse.Namespace) -> None:
    """Put the names of both forms into ``asked.table``: a list of selectors (None: no name), or the name of one table.

    Raises PipelineError when one table is needed and not named, or two different ones are.
    """
    if "table" not in asked or "tables" not in asked:
        return
    if isinstance(asked.tables, list):
        asked.table = [*asked.tables, *(asked.table or [])] or None
        return
    if asked.tables and asked.table and asked.tables != asked.table:
        raise PipelineError(f"one table can be named, not both {asked.tables} and {asked.table}")
    asked.table = asked.tables or asked.table
    if asked.needs_table and not asked.table:
        raise PipelineError(f"name a table, as in `paimon-lake {asked.command} shop.orders`")


def chosen(settings: Settings, asked: argparse.Namespace) -> list[str]:
    """Return the tables that the arguments choose, each after its inputs; without a name all tables.

    Raises PipelineError when ``changed`` has no ``--state``, or ``--state`` no selector ``changed``; SettingsError as
    ``selected`` does, and for a folder of ``--state`` that cannot be read.
    """
    selectors = asked.table or []
    if asked.state is None:
        if has_changed(selectors):
            raise PipelineError(
                f"--table {CHANGED} needs --state: the folder with the earlier declarations, for example of a "
                "`git worktree` of the revision that runs"
            )
        return selected(settings, selectors) if selectors else ordered(settings.tables, list(settings.tables))
    if not has_changed(selectors):
        raise PipelineError(f"--state needs the selector {CHANGED}, as in --table {CHANGED}+ --state {asked.state}")
    return selected(settings, selectors, changed_tables(settings, asked.state))

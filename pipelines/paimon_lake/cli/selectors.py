"""Selectors: the arguments ``--table`` and ``--state`` of commands for several tables."""

from __future__ import annotations

import argparse

from paimon_lake.declarations import Settings
from paimon_lake.declarations.agreement.selection import CHANGED, has_changed, ordered, selected
from paimon_lake.protocol import PipelineError
from paimon_lake.steps.changed import changed_tables

_HELP = (
    "names of tables, tag:NAME, or changed, with --state; a + before it adds the inputs, a + after it the tables that "
    "are made from it"
)
_STATE = "an earlier folder of the declarations: changed selects the tables whose definition differs from there"


def add_selectors(command: argparse.ArgumentParser, where: argparse._ActionsContainer | None = None) -> None:
    """Add ``--table``, whose value is a list of selectors (None: it was not given), and ``--state``.

    ``where``: the group of the command that gets ``--table``.
    """
    (where or command).add_argument("--table", nargs="+", action="extend", metavar="SELECTOR", help=_HELP)
    command.add_argument("--state", metavar="PATH", help=_STATE)


def chosen(settings: Settings, asked: argparse.Namespace) -> list[str]:
    """Return the tables that the arguments choose, each after its inputs; without ``--table`` all tables.

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

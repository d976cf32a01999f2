"""Selectors: the argument ``--table`` of commands for several tables."""

from __future__ import annotations

import argparse

_HELP = "names of tables, or tag:NAME; a + before it adds the inputs, a + after it the tables that are made from it"


def add_selectors(command: argparse._ActionsContainer) -> None:
    """Add ``--table``, whose value is a list of selectors; None: it was not given."""
    command.add_argument("--table", nargs="+", action="extend", metavar="SELECTOR", help=_HELP)

"""Adding: adds commands to the parser, each with the arguments that all commands have."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from paimon_core.cli.catalogs import add_arguments
from paimon_core.cli.plan_commands import Command
from paimon_core.errors import InvalidRequest

Commands = Any  # argparse has no public type for its group of subcommands


def add_command(
    found: Commands, name: str, text: str, run: Command, *, table: bool = True, branch: bool = True
) -> argparse.ArgumentParser:
    """Add a command that uses a catalog; ``table``: it takes a table, ``branch``: it takes a branch of the table."""
    command: argparse.ArgumentParser = found.add_parser(name, help=text, description=text)
    command.set_defaults(run=run)
    add_arguments(command)
    command.add_argument("--json", action="store_true", help="print one JSON value")
    if table:
        command.add_argument("table", metavar="DATABASE.TABLE")
    if table and branch:
        command.add_argument("--branch", help="branch of the table (default: main)")
    return command


def add_where(command: Any, text: str) -> None:
    """Add the argument ``--where``."""
    command.add_argument("--where", metavar="FILTER", help=text)


def key_values(argument: str, texts: Sequence[str]) -> dict[str, str]:
    """Return the texts KEY=VALUE of a repeated argument by key; raises InvalidRequest for a text of another form."""
    found: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not key or not equals:
            raise InvalidRequest(f"{argument} must be KEY=VALUE, not {text!r:.60}")
        found[key] = value
    return found


def names(text: str) -> list[str]:
    """Parse a list of names that commas separate."""
    return [name.strip() for name in text.split(",")]

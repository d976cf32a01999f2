"""Adding: adds commands to the parser, each with the arguments that all commands have."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from paimon_core.cli.catalogs.opening import add_arguments
from paimon_core.cli.output.output import Output
from paimon_core.cli.parsing.values import duration, moment, names, number

if TYPE_CHECKING:
    from paimon_core.catalog.catalog import Catalog

LIMIT = 100
"""The most rows that a command prints without ``--limit``."""
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


Command = Callable[["Catalog", argparse.Namespace, Output], int]


def add_scan(found: Commands, name: str, text: str, run: Command) -> argparse.ArgumentParser:
    """Add a command with the arguments of a scan."""
    command = add_command(found, name, text, run)
    command.add_argument("--columns", type=names, metavar="COLUMN,...", help="only these columns")
    add_where(command, "only the rows that match")
    add_version(command)
    return command


def add_version(command: argparse.ArgumentParser) -> None:
    """Add the arguments that name a version of a table."""
    version = command.add_mutually_exclusive_group()
    version.add_argument("--snapshot", type=number, metavar="ID", help="at this snapshot")
    version.add_argument("--tag", help="at this tag")
    version.add_argument("--time", type=moment, help="at the snapshot that was the latest at this time")


def add_limit(command: argparse.ArgumentParser) -> None:
    """Add the argument ``--limit``."""
    command.add_argument("--limit", type=number, metavar="N", help=f"at most so many rows (default: {LIMIT})")


def add_group(found: Commands, name: str, text: str) -> Commands:
    """Add a group of commands, such as ``tags``."""
    group = found.add_parser(name, help=text, description=text)
    return group.add_subparsers(dest="action", required=True, metavar="ACTION")


def add_age(command: argparse.ArgumentParser) -> None:
    """Add the argument ``--older-than``."""
    command.add_argument(
        "--older-than",
        type=duration,
        metavar="DURATION",
        help="age such as '7 d' (default: the table's options; orphans remove and unfinished: 1 d, orphans purge: 7 d)",
    )

"""Completion: prints the script with which a shell completes commands, options and files.

The package ``shtab`` makes the script from a parser. The script contains all names: a press of the tab key starts no
Python.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from paimon_core.cli.output.output import Output
from paimon_core.errors import InvalidRequest

COMPLETION = "completion"

SHELLS = ("bash", "zsh", "fish")

HELP = "print a script for a shell that completes commands, options and files"

_FILES = ("FILE", "FILE.html", "NAME.tar.gz")

_FOLDERS = ("PATH",)

_FOLDER_OPTIONS = ("--warehouse", "--to-warehouse", "--allowed-root")


def add_shell(command: argparse.ArgumentParser) -> None:
    """Add the argument of the command: the name of the shell."""
    command.add_argument("shell", choices=SHELLS, help="the shell that reads the script")


def completion(parser: argparse.ArgumentParser, args: argparse.Namespace, out: Output) -> int:
    """Print the script of a parser for a shell."""
    script = script_of(parser, args.shell)
    out.say(script, {"shell": args.shell, "script": script})
    return 0


def script_of(parser: argparse.ArgumentParser, shell: str) -> str:
    """Return the script for one of ``SHELLS``; raises InvalidRequest when the package shtab is not installed."""
    try:
        import shtab
    except ModuleNotFoundError as error:
        raise InvalidRequest(f"a script for a shell needs the package {error.name}: pip install shtab") from error

    for action in _actions(parser):
        found = shtab.FILE if action.metavar in _FILES else shtab.DIRECTORY if _is_folder(action) else None
        if found is not None:
            action.complete = found  # type: ignore[attr-defined]
    return str(shtab.complete(parser, shell)).rstrip("\n")


def _is_folder(action: argparse.Action) -> bool:
    return action.metavar in _FOLDERS or any(name in _FOLDER_OPTIONS for name in action.option_strings)


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for part in action.choices.values():
                yield from _actions(part)

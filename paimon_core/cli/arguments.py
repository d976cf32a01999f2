"""Arguments: parsers for durations, times and partitions; an invalid argument is reported in one line."""

from __future__ import annotations

import argparse
import datetime
import re
import sys
from typing import TYPE_CHECKING, Any, NoReturn

from paimon_core.cli.output import Output, OutputError, discard_output, printable, problem
from paimon_core.options.parsers import lacks_unit, parse_millis

if TYPE_CHECKING:
    from _typeshed import SupportsWrite


_LONG = 300
"""The characters of an error from which on it does not list all choices."""


class Parser(argparse.ArgumentParser):
    """An argument parser that reports an error in one line, or as JSON with ``--json``, and exits with code 2."""

    _is_json = False

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse as the base class does, and note whether errors are printed as JSON."""
        given = sys.argv[1:] if args is None else list(args)
        options = given[: given.index("--")] if "--" in given else given
        self._is_json = any(len(word) > 2 and "--json".startswith(word) for word in options)
        return super().parse_known_args(given, namespace)

    def error(self, message: str) -> NoReturn:
        """Print the error and exit; raises SystemExit with code 2. A long list of choices is left to ``--help``."""
        if len(message) > _LONG:
            message = re.sub(r" \(choose from .*\)$", "", message)
        words = printable(f"{message} (see --help)")
        command = self.prog.split()[1:2]
        self.exit(2, problem(command[0] if command else None, words, 2) if self._is_json else f"{self.prog}: {words}\n")

    def print_help(self, file: SupportsWrite[str] | None = None) -> None:
        """Print the help.

        If standard output cannot be written, exit with code 1 and print one line on standard error.
        """
        if file is not None:
            return super().print_help(file)
        try:
            Output().say(self.format_help().removesuffix("\n"), None)
        except OutputError as error:
            discard_output()
            self.exit(1, f"{self.prog}: cannot write to standard output: {error}\n")


class Version(argparse.Action):
    """Prints the version and exits; the version is read only then."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        """Print the version; raises SystemExit with code 0."""
        from paimon_core.version import version

        Output().say(f"{parser.prog} {version()}", None)
        parser.exit(0)


def duration(text: str) -> datetime.timedelta:
    """Parse a duration such as ``7 d``, ``12h`` or ``90 min``; a number other than 0 needs a unit."""
    if lacks_unit(text):
        number = text.strip()
        raise argparse.ArgumentTypeError(f"{text!r:.60} has no unit: write '{number:.60} d' or '{number:.60} ms'")
    try:
        return datetime.timedelta(milliseconds=parse_millis(text))
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(f"{text!r:.60} is not a duration such as '7 d' or '12 h'") from None


def moment(text: str) -> datetime.datetime | int:
    """Parse ``2024-01-31T12:00:00`` (a local time, unless the text has a time zone), or epoch milliseconds."""
    try:
        return int(text) if text.lstrip("-").isdecimal() else datetime.datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r:.60} is not a time such as 2024-01-31T12:00:00") from None


def partition(text: str) -> dict[str, str]:
    """Parse a partition such as ``day=2024-01-31,hour=7``."""
    pairs = [part.partition("=") for part in text.split(",")]
    if not all(key and equals for key, equals, _ in pairs):
        raise argparse.ArgumentTypeError(f"{text!r:.60} is not a partition such as day=2024-01-31,hour=7")
    if len({key for key, _, _ in pairs}) < len(pairs):
        raise argparse.ArgumentTypeError(f"{text!r:.60} names a column twice")
    return {key: value for key, _, value in pairs}


def add_plan_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of commands that make a plan: ``--apply`` and ``--plan-out``."""
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--apply", action="store_true", help="apply the plan; without this option the plan is only printed"
    )
    what.add_argument("--plan-out", metavar="FILE", help="write the plan to a file, for the command `apply`")

"""Parser: an argument parser that reports an invalid argument in one line, or as JSON."""

from __future__ import annotations

import argparse
import re
import sys
from typing import TYPE_CHECKING, Any, NoReturn

from paimon_core.cli.output.output import Output, OutputError, discard_output, printable, problem

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

_LONG = 300
"""The characters of an error from which on it does not list all choices."""


class Once(argparse._StoreAction):
    """Stores the value of an option; an option that is given twice is an error, because one value would be ignored."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: Any, values: Any, option: str | None = None) -> None:
        """Store the value; raises ArgumentError for the second value of an option."""
        if option is not None and isinstance(parser, OnceParser):
            if self.dest in parser.given:
                raise argparse.ArgumentError(self, "given twice")
            parser.given.add(self.dest)
        super().__call__(parser, namespace, values, option)


class OnceParser(argparse.ArgumentParser):
    """An argument parser that refuses an option that is given twice, unless its action collects several values."""

    def __init__(self, **arguments: Any) -> None:
        """Create a parser; arguments as of the base class."""
        super().__init__(**arguments)
        self.given: set[str] = set()
        for action in (None, "store"):
            self.register("action", action, Once)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse as the base class does."""
        self.given = set()
        return super().parse_known_args(args, namespace)


class Parser(OnceParser):
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

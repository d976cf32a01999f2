"""The kinds of arguments that commands take: durations, times, partitions; wrong ones are said in one line."""

from __future__ import annotations

import argparse
import datetime
from typing import NoReturn

from paimon_core.options.parsers import lacks_unit, parse_millis


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, and exits with 2."""

    def error(self, message: str) -> NoReturn:
        """Raises SystemExit."""
        self.exit(2, f"{self.prog}: {message} (--help says more)\n")


def duration(text: str) -> datetime.timedelta:
    """``7 d``, ``12h``, ``90 min``; a number other than 0 needs its unit."""
    if lacks_unit(text):
        number = text.strip()
        raise argparse.ArgumentTypeError(f"{text!r:.60} has no unit: write '{number:.60} d' or '{number:.60} ms'")
    try:
        return datetime.timedelta(milliseconds=parse_millis(text))
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(f"{text!r:.60} is no duration such as '7 d' or '12 h'") from None


def moment(text: str) -> datetime.datetime | int:
    """``2024-01-31T12:00:00`` (local time unless it names a zone), or epoch milliseconds."""
    try:
        return int(text) if text.lstrip("-").isdecimal() else datetime.datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r:.60} is no time such as 2024-01-31T12:00:00") from None


def partition(text: str) -> dict[str, str]:
    """``day=2024-01-31,hour=7``."""
    pairs = [part.partition("=") for part in text.split(",")]
    if not all(key and equals for key, equals, _ in pairs):
        raise argparse.ArgumentTypeError(f"{text!r:.60} is no partition such as day=2024-01-31,hour=7")
    if len({key for key, _, _ in pairs}) < len(pairs):
        raise argparse.ArgumentTypeError(f"{text!r:.60} names a column twice")
    return {key: value for key, _, value in pairs}


def add_plan_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of commands that remove something."""
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--apply", action="store_true", help="do it; without this the plan is only printed")
    what.add_argument("--plan-out", metavar="FILE", help="write the plan to a file, for `apply`")

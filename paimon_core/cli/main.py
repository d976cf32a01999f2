"""The command line of one warehouse: look at its tables, check them, keep them healthy (docs/command-line.md).

Exit 0: done, and nothing is wrong; 1: it failed, or something is wrong with the table; 2: it was asked wrongly. Errors
are one sentence on standard error. Nothing is removed without --apply.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from paimon_core.cli.catalogs import open_asked
from paimon_core.cli.commands import parser
from paimon_core.cli.output import Output
from paimon_core.errors import AlreadyExists, InvalidRequest, NotFound, PaimonError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code."""
    asked = parser().parse_args(arguments)
    try:
        return _run(asked)
    except (InvalidRequest, NotFound, AlreadyExists) as error:
        return _failed(asked, str(error), 2)
    except PaimonError as error:
        return _failed(asked, f"{error.kind}: {error}", 1)
    except KeyboardInterrupt:
        return _failed(asked, "interrupted", 1)


def _run(asked: argparse.Namespace) -> int:
    code: int = asked.run(open_asked(asked), asked, Output(asked.json))
    return code


def _failed(asked: argparse.Namespace, message: str, code: int) -> int:
    words = " ".join(str(message).split())
    sys.stderr.write(f"paimon-core {asked.command}: {words}\n")
    return code

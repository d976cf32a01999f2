"""Main: runs one command on the tables of a warehouse (docs/command-line.md).

Exit code 0: the command succeeded. 1: the command failed, or ``fsck`` found errors or warnings. 2: the arguments are
wrong or not supported, name an object that does not exist, or name a new object that already exists. 3 and 4:
``doctor`` found warnings (3), or at least one error (4); 3 also: ``import`` rejected rows and wrote the others. The
message of a failed command is one line on standard error, with ``--json`` a JSON object; it ends with the command that
helps, where there is one.
Commands remove nothing without --apply (``doctor``: without --fix).
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Sequence

from paimon_core.advice import REPAIR, for_table
from paimon_core.cli.catalogs.opening import open_catalog_of
from paimon_core.cli.catalogs.remedies import in_words_of_arguments, remedy
from paimon_core.cli.commands import parser
from paimon_core.cli.output.output import Output, OutputError, discard_output, printable, problem
from paimon_core.cli.standalone.arguments import WITHOUT_WAREHOUSE
from paimon_core.errors import AlreadyExists, CorruptTable, InvalidRequest, NotFound, PaimonError
from paimon_core.progress_meter import progress


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    args = parser().parse_args(arguments)
    try:
        return _run(args)
    except (InvalidRequest, NotFound, AlreadyExists) as error:
        return _failed(args, f"{in_words_of_arguments(args, str(error))}{remedy(args, error)}", 2)
    except PaimonError as error:
        return _failed(args, f"{error.kind}: {error}{_advice(args, error)}", 1)
    except OutputError as error:
        discard_output()
        return _failed(args, f"cannot write to standard output: {error}. Changes of the command are not undone", 1)
    except KeyboardInterrupt as stopped:
        return _failed(args, "; ".join(["interrupted", *getattr(stopped, "__notes__", [])]), 1)


def _run(args: argparse.Namespace) -> int:
    out = Output(args.json)
    alone = args.command in WITHOUT_WAREHOUSE
    told = progress() if sys.stderr is not None and sys.stderr.isatty() else contextlib.nullcontext()
    with told:
        code: int = args.run(args, out) if alone else args.run(open_catalog_of(args), args, out)
    return code


def _advice(args: argparse.Namespace, error: PaimonError) -> str:
    if not isinstance(error, CorruptTable) or "problem" in error.facts or args.command == "repair":
        return ""
    return f"; {REPAIR}"


def _failed(args: argparse.Namespace, message: str, code: int) -> int:
    words = printable(" ".join(str(message).split()))
    if getattr(args, "table", None):
        words = for_table(words, args.table)
    if getattr(args, "json", False):
        sys.stderr.write(problem(args.command, words, code))
    else:
        sys.stderr.write(f"paimon-core {args.command}: {words}\n")
    return code

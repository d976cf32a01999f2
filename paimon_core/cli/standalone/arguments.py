"""Arguments of the commands that need no warehouse."""

from __future__ import annotations

import argparse
from pathlib import Path

from paimon_core.cli.parsing.adding import Commands
from paimon_core.cli.standalone import cluster_archive, completion, options

OPTIONS, ARCHIVE = "options", "cluster-archive"

WITHOUT_WAREHOUSE = (OPTIONS, ARCHIVE, completion.COMPLETION)

_OPTIONS_HELP = "list the options of tables, or explain one of them"

_ARCHIVE_HELP = "write an archive of the packages that the Python workers of a Spark cluster need"


def add_standalone(found: Commands, top: argparse.ArgumentParser) -> None:
    """Add the commands that need no warehouse; ``top`` is the parser that ``completion`` describes."""
    listed = found.add_parser(OPTIONS, help=_OPTIONS_HELP, description=_OPTIONS_HELP)
    listed.set_defaults(run=options.options)
    listed.add_argument("--json", action="store_true", help="print one JSON value")
    listed.add_argument("name", nargs="?", help="the name of one option, or a part of names")
    archive = found.add_parser(ARCHIVE, help=_ARCHIVE_HELP, description=_ARCHIVE_HELP)
    archive.set_defaults(run=cluster_archive.cluster_archive)
    archive.add_argument("--json", action="store_true", help="print one JSON value")
    archive.add_argument("--extras", type=lambda text: text.split(","), default=[], help="extras, such as s3,polars")
    archive.add_argument("target", type=Path, metavar="NAME.tar.gz", help="the file to write")
    text = completion.HELP
    script = found.add_parser(completion.COMPLETION, help=text, description=text)
    script.set_defaults(run=lambda args, out: completion.completion(top, args, out))
    script.add_argument("--json", action="store_true", help="print one JSON value")
    completion.add_shell(script)

"""Commands: the parser of all commands, in the order of its help."""

from __future__ import annotations

import argparse

from paimon_core.cli.health.arguments import add_fsck, add_health
from paimon_core.cli.parsing.parser import Parser, Version
from paimon_core.cli.refs.arguments import add_branches, add_tags
from paimon_core.cli.rows.arguments import add_changes, add_rows, add_transfers
from paimon_core.cli.standalone.arguments import add_standalone
from paimon_core.cli.tables.arguments import add_alter, add_lists, add_system_tables, add_tables
from paimon_core.cli.upkeep.arguments import add_apply, add_expiry, add_files, add_marks, add_rewrites, add_rollback


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    top = Parser(prog="paimon-core", description="List, check, compact and clean up Paimon tables.")
    top.add_argument("--version", action=Version, nargs=0, help="print the version")
    found = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    add_lists(found)
    for add in (add_tables, add_rows, add_changes, add_transfers, add_system_tables, add_fsck, add_health, add_alter):
        add(found)
    for add in (add_tags, add_branches, add_expiry, add_files, add_rollback, add_rewrites, add_marks):
        add(found)
    add_standalone(found, top)
    add_apply(found)
    return top

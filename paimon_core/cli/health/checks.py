"""Checks: checks the invariants of a table."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from paimon_core.advice import for_table
from paimon_core.cli.output.output import Output
from paimon_core.errors import CorruptTable, UnsupportedFeature
from paimon_core.storage.paths import table_path

if TYPE_CHECKING:
    from paimon_core.catalog.catalog import Catalog
    from paimon_core.fsck.finding import Report


def fsck(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Check a table and print the findings; return 1 when there are errors or warnings, else 0."""
    report = _report(catalog, args)
    out.say(for_table(report.text(), args.table), report.to_plain())
    return 0 if report.is_clean else 1


def _report(catalog: Catalog, args: argparse.Namespace) -> Report:
    from paimon_core.catalog.filesystem import FilesystemCatalog
    from paimon_core.catalog.identifier import Identifier
    from paimon_core.fsck.check import check, check_root

    try:
        return check(catalog.table(args.table).context, deep=args.deep)
    except (CorruptTable, UnsupportedFeature):
        if not isinstance(catalog, FilesystemCatalog):
            raise
        name = Identifier.of_table(args.table, "check")
        root = table_path(catalog.warehouse, name.database, name.table)
        return check_root(args.table, catalog.storage, root, deep=args.deep)

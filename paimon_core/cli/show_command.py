"""The command ``show``: print a system table of a table, or of the catalog."""

from __future__ import annotations

import argparse
import datetime
from typing import TYPE_CHECKING, Any

from paimon_core.cli.output import Output

if TYPE_CHECKING:
    from paimon_core.catalog.catalog import Catalog


def show(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Print the rows of a system table; raises NotFound, which lists the system tables, for an unknown name."""
    found = catalog.system_table(args.table).scan(args.columns, args.where, args.limit).to_arrow()
    rows = [[_plain(cell) for cell in row.values()] for row in found.to_pylist()]
    out.table(found.column_names, rows, "no rows")
    return 0


def _plain(cell: Any) -> Any:
    """Return a date or time as ISO text, and any other value unchanged (a map is already a list of pairs)."""
    return cell.isoformat() if isinstance(cell, datetime.date | datetime.time) else cell

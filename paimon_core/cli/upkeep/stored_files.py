"""Stored files: quarantines, hint files and consumers of a table."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from paimon_core.cli.catalogs.opening import table_of
from paimon_core.cli.output.output import Output
from paimon_core.cli.output.sentences import sentence, utc_time

if TYPE_CHECKING:
    from paimon_core.catalog.catalog import Catalog


def list_quarantines(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Print the quarantines that orphan removals created."""
    rows = [
        (q.id, utc_time(q.created_millis), len(q.files), q.size_bytes)
        for q in table_of(catalog, args).maintenance.quarantines()
    ]
    out.table(("id", "removed", "files", "bytes"), rows, "no quarantines")
    return 0


def list_consumers(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Print the consumers (streaming readers) of a table."""
    found = table_of(catalog, args).maintenance.consumers()
    rows = [(c.name, c.next_snapshot, utc_time(c.modified_millis)) for c in found]
    out.table(("consumer", "next", "seen"), rows, "no consumers")
    return 0


def repair_hints(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Correct the hint files LATEST and EARLIEST."""
    report = table_of(catalog, args).maintenance.repair_hints()
    out.say(sentence(report), report)
    return 0


def undo(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Restore the files that an orphan removal moved to quarantine; return 1 when some files are lost."""
    report = table_of(catalog, args).maintenance.undo(args.id)
    out.say(sentence(report), report)
    return 1 if report.lost else 0

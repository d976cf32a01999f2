"""Read commands: list tables, snapshots, tags, branches, quarantines and consumers, and check a table."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from paimon_core.advice import for_table
from paimon_core.cli.catalogs import table_of
from paimon_core.cli.cells import utc_time
from paimon_core.cli.output import Output
from paimon_core.errors import CorruptTable, NotFound, UnsupportedFeature
from paimon_core.storage.paths import table_path

if TYPE_CHECKING:
    from paimon_core.catalog.catalog import Catalog
    from paimon_core.fsck.finding import Report


def tables(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Print all tables, or the tables of one database; raises NotFound when the warehouse does not exist."""
    from paimon_core.catalog.filesystem import FilesystemCatalog

    databases = [args.database] if args.database else catalog.list_databases()
    if not databases and isinstance(catalog, FilesystemCatalog) and not catalog.storage.exists(catalog.warehouse):
        raise NotFound(f"warehouse {catalog.warehouse} does not exist", path=catalog.warehouse)
    names = [f"{database}.{name}" for database in databases for name in catalog.list_tables(database)]
    out.say("\n".join(names) or "no tables", names)
    return 0


def snapshots(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Print the snapshots that have not expired, with the rows in their files, where each version of a key counts."""
    found = table_of(catalog, args).inspect.snapshots().to_pylist()
    header = ("id", "kind", "time", "rows_in_files", "change", "user")
    rows = [
        (
            s["snapshot_id"],
            s["commit_kind"],
            s["commit_time_utc"].isoformat(timespec="seconds"),
            s["total_record_count"],
            s["delta_record_count"],
            s["commit_user"],
        )
        for s in found
    ]
    out.table(header, rows, "no snapshots")
    return 0


def list_tags(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Print the tags of a table, by name."""
    rows = [
        (t.name, t.snapshot.id, utc_time(t.snapshot.time_millis), utc_time(t.expires_millis))
        for t in table_of(catalog, args).tags.list()
    ]
    out.table(("tag", "snapshot", "time", "expires"), rows, "no tags")
    return 0


def list_branches(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Print the branches of a table except main, by name."""
    names = table_of(catalog, args).branches.list()
    out.say("\n".join(names) or "no branch except main", names)
    return 0


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

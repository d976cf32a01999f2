"""The commands that only look: tables, snapshots, tags, branches, and the check of a table."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from paimon_core.cli.catalogs import table_of
from paimon_core.cli.output import Output
from paimon_core.errors import CorruptTable, NotFound, UnsupportedFeature
from paimon_core.storage.paths import table_path

if TYPE_CHECKING:
    from paimon_core.catalog.catalog import Catalog
    from paimon_core.fsck.finding import Report


def tables(catalog: Catalog, asked: argparse.Namespace, out: Output) -> int:
    """All tables, or those of one database; raises NotFound where there is no warehouse."""
    from paimon_core.catalog.filesystem import FilesystemCatalog

    databases = [asked.database] if asked.database else catalog.list_databases()
    if not databases and isinstance(catalog, FilesystemCatalog) and not catalog.storage.exists(catalog.warehouse):
        raise NotFound(f"no warehouse at {catalog.warehouse}: nothing is there", path=catalog.warehouse)
    names = [f"{database}.{name}" for database in databases for name in catalog.list_tables(database)]
    out.say("\n".join(names) or "no table", names)
    return 0


def snapshots(catalog: Catalog, asked: argparse.Namespace, out: Output) -> int:
    """The snapshots that have not expired."""
    found = table_of(catalog, asked).inspect.snapshots().to_pylist()
    header = ("id", "kind", "time", "rows", "change", "user")
    rows = [
        (
            s["snapshot_id"],
            s["commit_kind"],
            s["commit_time"].isoformat(timespec="seconds"),
            s["total_record_count"],
            s["delta_record_count"],
            s["commit_user"],
        )
        for s in found
    ]
    out.table(header, rows, "no snapshot")
    return 0


def list_tags(catalog: Catalog, asked: argparse.Namespace, out: Output) -> int:
    """The tags of a table, by name."""
    rows = [
        (t.name, t.snapshot.id, _time(t.snapshot.time_millis), _time(t.expires_millis))
        for t in table_of(catalog, asked).tags.list()
    ]
    out.table(("tag", "snapshot", "time", "expires"), rows, "no tag")
    return 0


def list_branches(catalog: Catalog, asked: argparse.Namespace, out: Output) -> int:
    """The branches of a table but main, by name."""
    names = table_of(catalog, asked).branches.list()
    out.say("\n".join(names) or "no branch but main", names)
    return 0


def list_quarantines(catalog: Catalog, asked: argparse.Namespace, out: Output) -> int:
    """What orphan removals have put aside."""
    rows = [
        (q.id, _time(q.created_millis), len(q.files), q.size_bytes)
        for q in table_of(catalog, asked).maintenance.quarantines()
    ]
    out.table(("id", "removed", "files", "bytes"), rows, "nothing in quarantine")
    return 0


def list_consumers(catalog: Catalog, asked: argparse.Namespace, out: Output) -> int:
    """The streaming readers of a table."""
    found = table_of(catalog, asked).maintenance.consumers()
    rows = [(c.name, c.next_snapshot, _time(c.modified_millis)) for c in found]
    out.table(("consumer", "next", "seen"), rows, "no consumer")
    return 0


def fsck(catalog: Catalog, asked: argparse.Namespace, out: Output) -> int:
    """Check a table; 1 when it is not clean."""
    report = _report(catalog, asked)
    out.say(report.text(), report.to_plain())
    return 0 if report.is_clean else 1


def _report(catalog: Catalog, asked: argparse.Namespace) -> Report:
    from paimon_core.catalog.filesystem import FilesystemCatalog
    from paimon_core.catalog.identifier import Identifier
    from paimon_core.fsck.check import check, check_root

    try:
        return check(catalog.table(asked.table).context, deep=asked.deep)
    except (CorruptTable, UnsupportedFeature):
        if not isinstance(catalog, FilesystemCatalog):
            raise
        name = Identifier.of_table(asked.table, "check")
        root = table_path(catalog.warehouse, name.database, name.table)
        return check_root(asked.table, catalog.storage, root, deep=asked.deep)


def _time(millis: int | None) -> str | None:
    return None if millis is None else datetime.fromtimestamp(millis / 1000, UTC).isoformat(timespec="seconds")

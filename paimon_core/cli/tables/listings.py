"""Listings: tables of a warehouse, snapshots and files of a table, and system tables."""

from __future__ import annotations

import argparse
import datetime
from typing import TYPE_CHECKING, Any

from paimon_core.cli.catalogs.opening import table_of
from paimon_core.cli.output.cells import print_rows
from paimon_core.cli.output.output import Output
from paimon_core.cli.output.sentences import utc_time
from paimon_core.errors import InvalidRequest, NotFound

if TYPE_CHECKING:
    from paimon_core.catalog.catalog import Catalog


def table_names(catalog: Catalog, database: str | None) -> list[str]:
    """Return the names of all tables or of a database; raises NotFound for a warehouse that does not exist."""
    from paimon_core.catalog.filesystem import FilesystemCatalog

    databases = [database] if database else catalog.list_databases()
    if not databases and isinstance(catalog, FilesystemCatalog) and not catalog.storage.exists(catalog.warehouse):
        raise NotFound(f"warehouse {catalog.warehouse} does not exist", path=catalog.warehouse)
    return [f"{found}.{name}" for found in databases for name in catalog.list_tables(found)]


def tables(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Print all tables, or the tables of one database; raises NotFound when the warehouse does not exist."""
    names = table_names(catalog, args.database)
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


_FILES = ("partition", "bucket", "level", "record_count", "file_size_in_bytes", "min_key", "max_key", "file_path")


def history(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Print the snapshots that exist, the newest first, with what made them and their tags."""
    if args.n < 0:
        raise InvalidRequest(f"the number of snapshots must be 0 (all) or more, not {args.n}")
    table = table_of(catalog, args)
    tags: dict[int, list[str]] = {}
    for tag in table.tags.list():
        tags.setdefault(tag.snapshot.id, []).append(tag.name)
    header = ("snapshot", "committed", "kind", "operation", "row_changes", "tags", "user")
    rows = []
    for row in reversed(table.inspect.snapshots().to_pylist()):
        snapshot = table.context.snapshots.read(row["snapshot_id"])
        rows.append(
            (
                snapshot.id,
                utc_time(snapshot.time_millis),
                snapshot.commit_kind.value,
                snapshot.operation,
                snapshot.delta_record_count,
                ", ".join(tags.get(snapshot.id, [])) or None,
                snapshot.commit_user,
            )
        )
    out.table(header, rows[: args.n] if args.n else rows, "no snapshots")
    return 0


def files(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Print the data files of the latest snapshot."""
    print_rows(out, table_of(catalog, args).system("files", list(_FILES), args.where).to_arrow(), "no files")
    return 0


def show(catalog: Catalog, args: argparse.Namespace, out: Output) -> int:
    """Print the rows of a system table; raises NotFound, which lists the system tables, for an unknown name."""
    found = catalog.system_table(args.table).scan(args.columns, args.where, args.limit).to_arrow()
    rows = [[_plain(cell) for cell in row.values()] for row in found.to_pylist()]
    out.table(found.column_names, rows, "no rows")
    return 0


def _plain(cell: Any) -> Any:
    """Return a date or time as ISO text, and any other value unchanged (a map is already a list of pairs)."""
    return cell.isoformat() if isinstance(cell, datetime.date | datetime.time) else cell

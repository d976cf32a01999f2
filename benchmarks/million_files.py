"""Measures plans and the control plane on a table of many files (1,000,000 by default), in time and memory.

The table consists of metadata (``planning.create``). Each measure runs in a process of its own and prints processor
seconds, and the growth of the peak memory in MB:

plan                 the splits of the whole table: by a new catalog, and again
plan after a commit  the splits of the next snapshot, which adds a file to one bucket
partition            the splits of one partition: by a new catalog, and after a plan of the whole table
expiry               which of 1,000 files of all partitions the snapshot uses
orphans              which of 1,000 names any root of the table uses
conflicts            the check of a commit that deletes 1,000 files of all partitions
partition expiry     the last update and the files of each partition
files                five columns of the system table files
partitions, buckets  all columns of these system tables, and of file_indexes (no file has an index)
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import paimon_core
from benchmarks.planning import create, partitions_of
from benchmarks.planning_side import peak_mb, seconds
from benchmarks.timing import log
from paimon_core.commit.base import Base
from paimon_core.commit.conflicts import check_changes
from paimon_core.maintain.expiry.partitions import plan_partition_expiry
from paimon_core.maintain.references.removable_files import RemovableFiles
from paimon_core.maintain.references.used_files import references
from paimon_core.metadata.manifests.entries import FileKind, ManifestEntry
from paimon_core.metadata.snapshot import CommitKind
from paimon_core.metadata.stores.manifest_cache import ManifestCache
from paimon_core.table.table import Table

SYSTEM_TABLES = ("partitions", "buckets", "file_indexes")
MEASURES = (
    "plan",
    "after a commit",
    "partition",
    "expiry",
    "orphans",
    "conflicts",
    "partition expiry",
    "files",
    *SYSTEM_TABLES,
)
SOME = 1000
_NAME = "many"
_COLUMNS = ["partition", "bucket", "file_path", "record_count", "file_size_in_bytes"]
Steps = list[tuple[str, Callable[[], Any]]]


def some_entries(table: Table) -> list[ManifestEntry]:
    """Return ``SOME`` entries of the newest and smallest manifests, and empty the cache."""
    manifests = table.context.manifests
    snapshot = table.context.snapshots.latest()
    assert snapshot is not None
    listed = sorted(manifests.manifests_of(snapshot), key=lambda m: m.file_size)
    columns = manifests.read_columns(listed[:4])
    found = columns.entries(np.arange(0, len(columns), max(1, len(columns) // SOME)))[:SOME]
    manifests.cache = ManifestCache()
    return found


def steps(table: Table, what: str, partitions: int) -> Steps:
    """Return the steps of a measure, in order, each with its name."""
    context, one = table.context, paimon_core.col("p") == partitions // 2
    snapshot = context.snapshots.latest()
    assert snapshot is not None

    def plan(where: Any = None) -> None:
        assert table.scan(where=where).splits()

    if what == "plan":
        return [("cold", plan), ("again", plan)]
    if what == "partition":
        return [("cold", lambda: plan(one)), ("", plan), ("after a plan", lambda: plan(one))]
    if what == "after a commit":
        entry = some_entries(table)[0]
        added = replace(entry, file=replace(entry.file, file_name=f"data-{uuid.uuid4()}-0.parquet"))

        def commit() -> None:
            new = context.manifests.write_manifests([added], 1 << 20)
            base, size = context.manifests.write_list(context.manifests.manifests_of(snapshot))
            delta, delta_size = context.manifests.write_list(new)
            sizes = {"base_manifest_list_size": size, "delta_manifest_list_size": delta_size}
            lists: dict[str, Any] = {"base_manifest_list": base, "delta_manifest_list": delta, **sizes}
            assert context.snapshots.create(replace(snapshot, id=snapshot.id + 1, **lists))

        return [("", plan), ("", commit), ("plan", plan)]
    if what == "partition expiry":
        settings: dict[str, Any] = {"now_millis": 0, "strategy": "update-time", "lifetime_millis": 1}
        return [("plan", lambda: plan_partition_expiry(context, **settings))]
    if what == "files":
        return [("five columns", lambda: table.system("files", columns=_COLUMNS).to_arrow())]
    if what in SYSTEM_TABLES:
        return [("all columns", lambda: table.system(what).to_arrow())]
    some = some_entries(table)
    if what == "expiry":
        removable = RemovableFiles(context)
        for entry in some:
            removable.add_file(entry)
        return [("used files", lambda: removable.keep([snapshot]))]
    if what == "orphans":
        return [("references", lambda: references(context, {e.file.file_name for e in some}))]
    deletes = [replace(e, kind=FileKind.DELETE) for e in some]
    return [("check", lambda: check_changes(Base(context, snapshot), CommitKind.COMPACT, deletes))]


def measure(warehouse: str, what: str, partitions: int) -> list[str]:
    table = paimon_core.open_catalog(warehouse).table(f"db.{_NAME}")
    prepared = steps(table, what, partitions)
    before = peak_mb()
    lines = []
    for name, step in prepared:
        taken = seconds(step)
        if name:
            lines.append(f"{what + ': ' + name:32}{taken:8.2f} s{peak_mb() - before:10.0f} MB")
    return lines


def main(args: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.million_files", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--files", type=int, default=1_000_000)
    parser.add_argument("--folder", help="where the table is created and kept; without it, a temporary folder")
    parser.add_argument("--measures", nargs="*", choices=MEASURES, default=list(MEASURES))
    parser.add_argument("--here", action="store_true", help="measure in this process, on a table that exists")
    given = parser.parse_args(args)
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or temporary
        if not (Path(folder) / "db.db" / _NAME).exists():
            log(f"creating {given.files:,} files")
            create(folder, _NAME, "keyed", given.files)
        for what in given.measures:
            if given.here:
                print(*measure(folder, what, partitions_of(given.files)), sep="\n", flush=True)
                continue
            own = ["--files", str(given.files), "--folder", folder, "--here", "--measures", what]
            subprocess.run([sys.executable, "-m", "benchmarks.million_files", *own], check=True)


if __name__ == "__main__":
    main()

"""Unit costs of metadata, measured on real manifests of 100,000 and 1,000,000 files, for ``benchmarks.huge_table``.

Each size is measured in a process of its own. A table of n files is created in the state after a full merge: its
manifests are full and ordered by partition. Small manifests (``manifest.target-file-size``) give a long manifest list
for few files. Prints one JSON object: processor seconds and bytes of memory for each file or manifest.
"""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

import paimon_core
from benchmarks.planning import BUCKETS, data_file, partitions_of, publish
from benchmarks.planning_side import peak_mb
from benchmarks.workload import MANY
from paimon_core.codec.binary_row.rows import encode_row
from paimon_core.commit import manifest_merge
from paimon_core.commit.manifest_merge import ManifestMerge
from paimon_core.metadata.manifests.entries import FileKind, ManifestEntry
from paimon_core.types import parse_type

TARGET = 8 << 20
SMALL_TARGET = 64 << 10
COMMITS = 40
"""Commits and expired snapshots that are timed."""


def create(warehouse: str, files: int, target: int) -> paimon_core.Table:
    """Create the table ``db.t``, whose files exist only in manifests."""
    catalog = paimon_core.open_catalog(warehouse)
    catalog.create_database("db")
    options = {"bucket": str(BUCKETS), "write-only": "true", "manifest.target-file-size": f"{target} b"}
    table = catalog.create_table("db.t", MANY, primary_key=["p", "id"], partition_by=["p"], options=options)
    partitions, numbers = partitions_of(files), random.Random(0)
    kind = [parse_type("INT NOT NULL")]
    rows = [encode_row([p], kind) for p in range(partitions)]
    turns = -(-files // partitions)
    entries = [
        ManifestEntry(FileKind.ADD, rows[p], turn % BUCKETS, BUCKETS, data_file("keyed", p, turn, numbers))
        for p in range(partitions)
        for turn in range(turns)
    ][:files]
    context = table.context
    publish(context, context.manifests.write_manifests(entries, target), [], files * 1000)
    return table


def spent(work: Callable[[], Any]) -> tuple[float, float, Any]:
    """Return the processor seconds of ``work``, the growth of the peak memory in bytes, and its result."""
    Path("/proc/self/clear_refs").write_text("5")
    memory, used = peak_mb(), resource.getrusage(resource.RUSAGE_SELF)
    found = work()
    after = resource.getrusage(resource.RUSAGE_SELF)
    seconds = after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime
    return seconds, (peak_mb() - memory) * 2**20, found


def of_files(files: int, folder: str) -> dict[str, float]:
    """Return the costs for each file: whole plans, reading and writing entries."""
    table = create(folder, files, TARGET)
    context = table.context
    snapshot = context.snapshots.latest()
    assert snapshot is not None
    manifests = context.manifests.manifests_of(snapshot)
    found = {"manifest_bytes": sum(m.file_size for m in manifests) / files, "manifests": float(len(manifests))}
    plan, memory, _ = spent(lambda: paimon_core.open_catalog(folder).table("db.t").scan().splits())
    found |= {"plan_seconds": plan / files, "plan_memory": memory / files}
    where = paimon_core.col("p") == partitions_of(files) // 2

    def plan_one() -> None:
        assert paimon_core.open_catalog(folder).table("db.t").scan(where=where).splits()

    plan_one()  # imports what conditions need
    one, _, _ = spent(plan_one)
    found["partition_plan_seconds"] = one
    read, memory, entries = spent(
        lambda: [e for m in manifests for e in context.manifests.read_manifest(m.file_name, m.file_size)]
    )
    found |= {"read_seconds": read / files, "entry_memory": memory / files}
    write, _, _ = spent(lambda: context.manifests.write_manifests(entries, TARGET))
    found["write_seconds"] = write / files
    return found


def of_merge(files: int, folder: str, most: int = manifest_merge.MOST_ENTRIES) -> dict[str, float]:
    """Return the cost of a full merge for each file, and its memory, when it holds at most about ``most`` entries."""
    table = create(folder, files, TARGET // 8)
    store, snapshot = table.context.manifests, table.context.snapshots.latest()
    assert snapshot is not None
    manifests = store.manifests_of(snapshot)
    gone = [
        replace(entry, kind=FileKind.DELETE)
        for m in manifests
        for entry in store.read_manifest(m.file_name, m.file_size)[::1000]
    ]
    delta = store.write_manifests(gone, TARGET)
    merge = ManifestMerge(
        read=lambda m: store.read_manifest(m.file_name, m.file_size),
        write=lambda some, spread=False: store.write_manifests(some, TARGET // 8, spread=spread),
        may_hold=store.may_hold,
        target_bytes=TARGET // 8,
        min_count=30,
        full_bytes=1,
        partition_types=store.partition_types,
    )
    manifest_merge.MOST_ENTRIES = most
    seconds, memory, merged = spent(lambda: merge.merge([*manifests, *delta]))
    assert sum(m.num_added_files for m in merged) == files - len(gone)
    return {"full_merge_seconds": seconds / files, "full_merge_memory": memory}


def of_manifests(files: int, folder: str) -> dict[str, float]:
    """Return the costs of a long manifest list: a commit of one row, and the expiry of a snapshot."""
    table = create(folder, files, SMALL_TARGET)
    snapshot = table.context.snapshots.latest()
    assert snapshot is not None
    count = len(table.context.manifests.manifests_of(snapshot))
    row = pa.table([[1], [10**12], ["v"]], schema=MANY)
    table.write(row)
    seconds, memory, _ = spent(lambda: [table.write(row) for _ in range(COMMITS)])
    expiry, _, report = spent(lambda: table.expire_snapshots(keep_last=1, keep_max=1, limit=COMMITS))
    assert len(report.expired) == COMMITS, report
    size = snapshot.base_manifest_list_size
    return {
        "list_manifests": float(count), "list_bytes": float(size or 0) / count, "commit_seconds": seconds / COMMITS,
        "commit_memory": memory, "expiry_seconds": expiry / COMMITS,
    }  # fmt: skip


def measured(files: int) -> dict[str, float]:
    """Return the unit costs at a number of files, each part from a process of its own."""
    found: dict[str, float] = {"files": float(files)}
    for part in ("of_files", "of_manifests", "of_merge"):
        command = [sys.executable, "-m", "benchmarks.huge_unit_costs", part, str(files)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{part} of {files} files failed: {done.stderr[-800:]}")
        found |= json.loads(done.stdout.splitlines()[-1])
    return found


if __name__ == "__main__":
    parts = {"of_files": of_files, "of_manifests": of_manifests, "of_merge": of_merge}
    with tempfile.TemporaryDirectory() as temporary:
        print(json.dumps(parts[sys.argv[1]](int(sys.argv[2]), temporary, *map(int, sys.argv[3:]))))

"""Measures plans and one-row commits on tables of 100 to 300,000 files, next to Java Paimon.

The tables consist of metadata: their commits are replayed through the manifest store and the merge of manifests, so
that the manifests are the same as of a real history, and no data file exists. Each measure of paimon_core runs in a
fresh process (``planning_side``), and is the least of ``--repeats`` runs, in processor seconds without imports:

cold       the splits of the whole table, by a new catalog
partition  the splits of one partition, by a new catalog
key        the splits that may contain one key of one partition, by a new catalog
warm       the splits of the whole table, by the same catalog again
commit     one row, written and committed by a new catalog
memory     the growth of the peak resident memory during the cold plan

Exponents are fitted to the processor seconds by least squares on logarithms. Java's seconds are wall time of one
thread of a warm JVM, with a new catalog (the first line) and the same one again.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import paimon_core
from benchmarks.java_side import JavaSide
from benchmarks.report.cells import exponent
from benchmarks.timing import log
from benchmarks.workload import MANY
from paimon_core.codec.binary_row.rows import encode_row
from paimon_core.commit.manifest_merge import ManifestMerge
from paimon_core.metadata.column_stats import ColumnStats
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.data_file import DataFile, FileSource
from paimon_core.metadata.manifests.entries import FileKind, ManifestEntry, ManifestFile
from paimon_core.metadata.snapshot import CommitKind, Snapshot
from paimon_core.types import parse_type
from tests.support.oracle import OracleUnavailable

KINDS = ("keyed", "level-0", "append")
BUCKETS = 8
ROWS = 1000
MEASURES = ("cold", "partition", "key", "warm", "commit", "memory")
_KEY = [parse_type("BIGINT NOT NULL")]
_PARTITION = [parse_type("INT NOT NULL")]
_COLUMNS = [parse_type("INT"), parse_type("BIGINT"), parse_type("STRING")]


def partitions_of(files: int) -> int:
    return max(1, round(math.sqrt(files)))


def create(warehouse: str, name: str, kind: str, files: int) -> None:
    """Create a table whose commits each added one file to every partition."""
    catalog = paimon_core.open_catalog(warehouse)
    catalog.create_database("db", ignore_if_exists=True)
    options = {"bucket": "-1" if kind == "append" else str(BUCKETS), "write-only": "true"}
    keys = {} if kind == "append" else {"primary_key": ["p", "id"]}
    context = catalog.create_table(f"db.{name}", MANY, partition_by=["p"], options=options, **keys).context
    manifests, options_ = context.manifests, context.options
    merge = ManifestMerge(
        read=lambda m: manifests.read_manifest(m.file_name, m.file_size),
        write=lambda entries, spread=False: manifests.write_manifests(
            entries, options_["manifest.target-file-size"], spread=spread
        ),
        may_hold=manifests.may_hold,
        target_bytes=options_["manifest.target-file-size"],
        min_count=options_["manifest.merge-min-count"],
        full_bytes=options_["manifest.full-compaction-threshold-size"],
        partition_types=manifests.partition_types,
    )
    listed: list[ManifestFile] = []
    delta: list[ManifestFile] = []
    rows = 0
    for entries in commits(kind, files):
        listed = merge.merge([*listed, *delta])
        delta = manifests.write_manifests(entries, options_["manifest.target-file-size"])
        rows += ROWS * len(entries)
    publish(context, listed, delta, rows)


def commits(kind: str, files: int) -> Iterator[list[ManifestEntry]]:
    """Yield the entries of each commit: as many as there are partitions."""
    partitions, numbers = partitions_of(files), random.Random(0)
    rows = [encode_row([p], _PARTITION) for p in range(partitions)]
    done = 0
    while done < files:
        turn = done // partitions
        chosen = rows[: files - done]
        bucket = 0 if kind == "append" else turn % BUCKETS
        yield [
            ManifestEntry(
                FileKind.ADD, row, bucket, -1 if kind == "append" else BUCKETS, data_file(kind, p, turn, numbers)
            )
            for p, row in enumerate(chosen)
        ]
        done += len(chosen)


def data_file(kind: str, partition: int, turn: int, numbers: random.Random) -> DataFile:
    first = {"keyed": turn // BUCKETS, "level-0": 0, "append": turn}[kind] * ROWS
    last = first + ROWS - 1
    texts = [f"v{numbers.getrandbits(32):08x}" for _ in range(2)]
    low, high = (
        encode_row([partition, key, text], _COLUMNS) for key, text in zip((first, last), sorted(texts), strict=True)
    )
    keys = [encode_row([key], _KEY) for key in (first, last)]
    key_members: dict[str, Any] = {}
    if kind != "append":
        key_members = {"min_key": keys[0], "max_key": keys[1], "key_stats": ColumnStats(*keys, (0,))}
    return DataFile(
        f"data-{uuid.UUID(int=numbers.getrandbits(128), version=4)}-0.parquet",
        20_000 + numbers.getrandbits(12),
        ROWS,
        0,
        5 if kind == "keyed" else 0,
        value_stats=ColumnStats(low, high, (0, 0, 0)),
        min_sequence_number=turn * ROWS,
        max_sequence_number=turn * ROWS + ROWS - 1,
        creation_time_millis=1_700_000_000_000 + turn,
        delete_row_count=0,
        file_source=FileSource.COMPACT if kind == "keyed" else FileSource.APPEND,
        **key_members,
    )


def publish(context: TableContext, base: list[ManifestFile], delta: list[ManifestFile], rows: int) -> None:
    lists = (*context.manifests.write_list(base), *context.manifests.write_list(delta))
    snapshot = Snapshot(
        id=1,
        schema_id=0,
        base_manifest_list=lists[0],
        base_manifest_list_size=lists[1],
        delta_manifest_list=lists[2],
        delta_manifest_list_size=lists[3],
        commit_user="benchmark",
        commit_identifier=1,
        commit_kind=CommitKind.APPEND,
        time_millis=time.time_ns() // 10**6,
        total_record_count=rows,
        delta_record_count=rows,
    )
    assert context.snapshots.create(snapshot)


def measured(warehouse: str, name: str, what: str, partitions: int) -> dict[str, float]:
    """Run one measure in a fresh process."""
    command = [sys.executable, "-m", "benchmarks.planning_side", warehouse, name, what, str(partitions)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{what} of {name} failed: {done.stderr[-800:]}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def of_table(folder: Path, kind: str, files: int, repeats: int) -> dict[str, float]:
    """Return the least of each measure on one table."""
    name = f"{kind.replace('-', '')}{files}"
    made = folder / "made"
    if not (made / "db.db" / name).exists():
        log(f"creating {files:,} files, {kind}")
        create(str(made), name, kind, files)
    partitions = partitions_of(files)
    log(f"plans and commits on {files:,} files, {kind}")
    found: dict[str, list[float]] = {}
    for _ in range(repeats):
        for what in ("whole", "partition", "key"):
            for measure, number in measured(str(made), name, what, partitions).items():
                found.setdefault(measure, []).append(number)
        copy = folder / "copy"
        shutil.copytree(made / "db.db" / name, copy / "db.db" / name)
        for measure, number in measured(str(copy), name, "commit", partitions).items():
            found.setdefault(measure, []).append(number)
        shutil.rmtree(copy)
    return {measure: min(numbers) for measure, numbers in found.items()}


def line(name: str, found: dict[str, float]) -> str:
    numbers = [f"{found[m]:7.1f} MB" if m == "memory" else f"{found[m]:8.3f} s" for m in MEASURES]
    return f"{name:20}" + "".join(f"{n:>11}" for n in numbers) + f"{found['imports']:10.3f} s"


def beside(folder: Path, name: str, ours: dict[str, float], java: JavaSide | None) -> Iterator[str]:
    warehouse = str(folder / "made")
    if java is not None:
        log(f"Java plans {name}")
        java.seconds("plan", warehouse, name, 5)  # warm-up
        seconds = java.seconds("plan", warehouse, name, 5)
        yield f"  Java: new catalog {seconds[0]:.3f} s, again {min(seconds[1:]):.3f} s; ours cold {ours['cold']:.3f} s"


def report(args: argparse.Namespace, folder: Path, java: JavaSide | None) -> Iterator[str]:
    yield f"plans and commits, processor seconds; {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}"
    yield f"{'':20}" + "".join(f"{m:>11}" for m in (*MEASURES, "imports"))
    for kind in args.kinds:
        points: dict[str, list[tuple[int, float]]] = {}
        for files in args.files:
            found = of_table(folder, kind, files, args.repeats)
            yield line(f"{kind} {files:,}", found)
            for measure in MEASURES:
                points.setdefault(measure, []).append((files, max(found[measure], 1e-4)))
            if files in args.beside:
                yield from beside(folder, f"{kind.replace('-', '')}{files}", found, java)
        if len(args.files) > 1:
            yield f"{'  exponents':20}" + "".join(f"{exponent(points[m]):11.2f}" for m in MEASURES)


def arguments(args: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.planning", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--files", type=int, nargs="*", default=[100, 1_000, 10_000, 100_000, 300_000])
    parser.add_argument("--kinds", nargs="*", choices=KINDS, default=list(KINDS))
    parser.add_argument("--repeats", type=int, default=3, help="fresh processes of each measure; the least counts")
    parser.add_argument("--beside", type=int, nargs="*", default=[10_000], help="files of the tables others plan too")
    parser.add_argument("--skip-java", action="store_true", help="time paimon_core alone")
    parser.add_argument("--folder", help="where the tables are created and kept; without it, a temporary folder")
    return parser.parse_args(args)


def main() -> None:
    args = arguments()
    java: JavaSide | None = None
    if not args.skip_java and args.beside:
        try:
            java = JavaSide()
        except OracleUnavailable as reason:
            log(f"without Java: {reason}")
    try:
        with tempfile.TemporaryDirectory() as temporary:
            for text in report(args, Path(args.folder or temporary), java):
                print(text, flush=True)
    finally:
        if java is not None:
            java.close()


if __name__ == "__main__":
    main()

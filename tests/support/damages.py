"""Damages: a small table on disk, and twenty-odd ways in which its files are damaged by hand."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow as pa

import paimon_core as paimon
from paimon_core.table.table import Table

SCHEMA = pa.schema([("k", pa.int64()), ("v", pa.string())])


def rows(*keys: int) -> pa.Table:
    return pa.table({"k": list(keys), "v": [f"v{k}" for k in keys]}, schema=SCHEMA)


def damaged_lake(path: Path) -> Table:
    """Create db.t with five snapshots of one row each, an alteration, a tag of snapshot 2, a consumer, vectors."""
    catalog = paimon.open_catalog(path)
    catalog.create_database("db")
    options = {"bucket": "-1", "write-only": "true", "deletion-vectors.enabled": "true"}
    table = catalog.create_table("db.t", SCHEMA, options=options)
    for key in (1, 2):
        table.write(rows(key, -key))
    table.tags.create("two")
    table.write(rows(3, -3))
    table.analyze()
    table.delete(paimon.col("k") == -3)
    table.alter("ADD COLUMN more INT")
    table.context.consumers.reset("c", 3)
    return catalog.table("db.t")


def _truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _garbage(path: Path) -> None:
    path.write_bytes(b"\xff\x00garbage" * 3)


def _file(of: Callable[[Table], str], how: Callable[[Path], object]) -> Callable[[Table], None]:
    return lambda table: (how(Path(of(table))), None)[1]


def _snapshot(number: int) -> Callable[[Table], str]:
    return lambda table: table.context.paths.snapshot(number)


def _manifest(name: str, number: int) -> Callable[[Table], str]:
    return lambda t: t.context.paths.manifest(getattr(t.context.snapshots.read(number), name))


def _entry_manifest(table: Table) -> str:
    (manifest,) = table.context.manifests.read_list(table.context.snapshots.read(3).delta_manifest_list)
    return table.context.paths.manifest(manifest.file_name)


def _vectors(table: Table) -> str:
    (entry,) = table.context.manifests.read_indexes(table.context.snapshots.read(5).index_manifest)
    return table.context.paths.index(entry.file.file_name)


def _statistics(table: Table) -> str:
    return table.context.paths.statistics(table.context.snapshots.read(4).statistics or "")


def _branch_without_schema(table: Table) -> None:
    table.branches.create("b")
    shutil.rmtree(Path(table.context.paths.branch_home("b"), "schema"))
    Path(table.context.paths.branch_home("b"), "snapshot").mkdir(exist_ok=True)


def _data_file(table: Table) -> str:
    entry = table.context.manifests.entries_of(table.context.snapshots.read(1))[0]
    return table.context.file_path(entry.partition, entry.bucket, entry.file)


def _other_id(table: Table) -> None:
    shutil.copy(_snapshot(3)(table), _snapshot(5)(table))


def _two_newest(table: Table) -> None:
    for number in (5, 4):
        _truncate(Path(_snapshot(number)(table)))


def _all_but_the_tag(table: Table) -> None:
    for number in table.context.snapshots.ids():
        Path(_snapshot(number)(table)).write_bytes(b"")


def _newest_but_its_tag(table: Table) -> None:
    table.tags.create("last")
    _truncate(Path(_snapshot(5)(table)))


def _two_newest_but_a_tag(table: Table) -> None:
    table.tags.create("last")
    _two_newest(table)


def _all(table: Table) -> None:
    _all_but_the_tag(table)
    Path(table.context.paths.tag("two")).write_bytes(b"")


DAMAGES: Mapping[str, tuple[Callable[[Table], None], int | None, int]] = {
    # name: (how, the latest snapshot after the repair (None: it cannot be repaired), rows that can be read then)
    "truncated snapshot": (_file(_snapshot(5), _truncate), 4, 6),
    "snapshot of another id": (_other_id, 4, 6),
    "empty snapshot": (_file(_snapshot(5), lambda p: p.write_bytes(b"")), 4, 6),
    "garbage snapshot": (_file(_snapshot(5), _garbage), 4, 6),
    "missing snapshot": (_file(_snapshot(5), Path.unlink), 4, 6),
    "two truncated snapshots": (_two_newest, 3, 6),
    "truncated snapshot of a tag": (_newest_but_its_tag, 5, 5),
    "two truncated snapshots, the newest with a tag": (_two_newest_but_a_tag, 5, 5),
    "missing middle snapshot": (_file(_snapshot(2), Path.unlink), 5, 5),
    "truncated middle snapshot": (_file(_snapshot(2), _truncate), 5, 5),
    "truncated first snapshot": (_file(_snapshot(1), _truncate), 5, 5),
    "all snapshots but the tag": (_all_but_the_tag, 2, 4),
    "all snapshots": (_all, None, 0),
    "truncated manifest list": (_file(_manifest("delta_manifest_list", 5), _truncate), 4, 6),
    "missing base manifest list": (_file(_manifest("base_manifest_list", 5), Path.unlink), 4, 6),
    "truncated manifest": (_file(_entry_manifest, _truncate), 2, 4),
    "missing manifest": (_file(_entry_manifest, Path.unlink), 2, 4),
    "missing index manifest": (_file(_manifest("index_manifest", 5), Path.unlink), 4, 6),
    "truncated vectors": (_file(_vectors, _truncate), 4, 6),
    "missing vectors": (_file(_vectors, Path.unlink), 4, 6),
    "truncated data file": (_file(_data_file, _truncate), 5, -1),
    "garbage statistics": (_file(_statistics, _garbage), 5, 5),
    "missing branch schema": (_branch_without_schema, 5, 5),
    "garbage hint": (_file(lambda t: t.context.paths.hint("LATEST"), _garbage), 5, 5),
    "stale hint": (_file(lambda t: t.context.paths.hint("EARLIEST"), lambda p: p.write_bytes(b"4")), 5, 5),
    "truncated tag": (_file(lambda t: t.context.paths.tag("two"), _truncate), 5, 5),
    "garbage consumer": (_file(lambda t: t.context.paths.consumer("c"), _garbage), 5, 5),
    "truncated newest schema": (_file(lambda t: t.context.paths.schema(1), _truncate), 5, 5),
    "missing data file": (_file(_data_file, Path.unlink), 6, 3),
    "missing bucket": (lambda t: shutil.rmtree(Path(_data_file(t)).parent), 6, 0),
}

"""Tables that Java wrote are clean, deep into their rows; so are those that both sides wrote."""

from __future__ import annotations

import pytest

import paimon_core as paimon
from paimon_core.fsck.check import check_root
from paimon_core.storage.fsspec_storage import FsspecStorage

T = "db.t"
FIELDS = [
    {"name": "d", "type": "DATE NOT NULL"},
    {"name": "k", "type": "INT NOT NULL"},
    {"name": "v", "type": "STRING"},
    {"name": "x", "type": "DOUBLE"},
]
KEYED = {"primaryKeys": ["d", "k"], "partitionKeys": ["d"]}
KINDS = {
    "keyed": (KEYED, {"bucket": "2"}),
    "lookup": (KEYED, {"bucket": "2", "changelog-producer": "lookup"}),
    "full-compaction": (
        KEYED,
        {"bucket": "1", "changelog-producer": "full-compaction", "full-compaction.delta-commits": "1"},
    ),
    "append": ({"partitionKeys": ["d"]}, {"bucket": "-1"}),
}


def rows(number):
    long = "a text that statistics cut short " * (number % 2)
    return [
        ["+I", day, k, f"{long}{number}", None if k % 3 == 0 else k / number]
        for day in ("2024-01-01", "2024-01-02")
        for k in range(number, number + 20)
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_of_java_is_clean(oracle, warehouse, kind):
    keys, options = KINDS[kind]
    create = {"op": "create", "table": T, "fields": FIELDS, **keys, "options": options}
    writes = [{"op": "write", "table": T, "rows": rows(number)} for number in range(1, 7)]
    # Java compacts tables without buckets in jobs of their own.
    oracle.run(warehouse, [create, *writes, *([{"op": "compact", "table": T}] if kind != "append" else [])])
    report = check_root(T, FsspecStorage("file"), f"{warehouse}/db.db/t", deep=True)
    assert report.is_clean, report.text()
    assert report.checked["I7"] >= 5
    assert report.checked["I19"] >= 6
    assert report.checked.get("I20", 0) == (kind in ("lookup", "full-compaction")), report.text()


@pytest.mark.parametrize("damage", ["snapshot", "all snapshots", "data file"])
def test_java_reads_and_writes_a_repaired_table(oracle, warehouse, damage):
    keys, options = KINDS["keyed"]
    create = {"op": "create", "table": T, "fields": FIELDS, **keys, "options": options | {"write-only": "true"}}
    oracle.run(warehouse, [create, *({"op": "write", "table": T, "rows": rows(number)} for number in (1, 2, 30))])
    table = paimon.open_catalog(warehouse).table(T)
    table.tags.create("two", 2)
    context = table.context
    if damage == "data file":
        entry = context.manifests.entries_of(context.snapshots.read(3))[-1]
        context.storage.delete([context.file_path(entry.partition, entry.bucket, entry.file)])
    for number in {"snapshot": [3], "all snapshots": [1, 2, 3]}.get(damage, []):
        path = context.paths.snapshot(number)
        context.storage.overwrite(path, context.storage.read(path)[:200])
    report = table.maintenance.apply(table.maintenance.plan_repair())
    ours = sorted(map(tuple, oracle.dump(warehouse, T)))
    assert len(ours) == table.scan().count() == (82 - report.missing.rows if report.missing else 42)
    oracle.run(warehouse, [{"op": "write", "table": T, "rows": rows(50)}])
    assert table.scan().count() == len(ours) + 40
    if damage != "data file":
        assert not table.maintenance.check(deep=True).errors

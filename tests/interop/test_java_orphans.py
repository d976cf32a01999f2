"""Orphans beside Java: the same files are found, Java reads what is left, and each goes on after the other."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimon_core.commit.manifest_compaction import compact_manifests
from paimon_core.maintain.orphans.quarantine import undo
from paimon_core.maintain.orphans.removal import apply_orphan_removal
from paimon_core.maintain.repair.missing_files import apply_missing_removal, plan_missing_removal
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.stores.schema_store import SchemaStore
from paimon_core.options import TableOptions
from paimon_core.storage.fsspec_storage import FsspecStorage
from paimon_core.storage.paths import TablePaths
from tests.support.orphan_tables import everything, plan, token

T = "db.t"
FIELDS = [
    {"name": "p", "type": "STRING NOT NULL"},
    {"name": "k", "type": "INT NOT NULL"},
    {"name": "v", "type": "STRING"},
]
KEYED = {"primaryKeys": ["p", "k"], "partitionKeys": ["p"]}
UNREADABLE = (("deletion-vectors.enabled", "true"), ("bucket", "-2"))
PRODUCER = {"bucket": "1", "changelog-producer": "lookup"}
TABLES = {
    "keyed": (KEYED, {"bucket": "2", "write-only": "true"}),
    "append": ({}, {"bucket": "-1"}),
    "two partition keys": ({"partitionKeys": ["p", "k"]}, {"bucket": "-1", "file.format": "avro"}),
    "deletion vectors": (KEYED, {"bucket": "1", "deletion-vectors.enabled": "true"}),
    "dynamic bucket": (KEYED, {"bucket": "-1"}),
    "postpone": (KEYED, {"bucket": "-2"}),
    "changelogs": (KEYED, PRODUCER),
    "changelogs without producer": (KEYED, {"bucket": "1"}),
}


@pytest.fixture(autouse=True)
def only_maintained(monkeypatch):
    """Maintenance knows tables that are not read here yet: their options are left out."""
    real = TableOptions.parse

    def parse(options, **kwargs):
        return real(dict(options.items() - set(UNREADABLE)), **kwargs)

    monkeypatch.setattr(TableOptions, "parse", staticmethod(parse))


def opened(warehouse) -> TableContext:
    root = f"{warehouse}/db.db/t"
    storage = FsspecStorage("file")
    schema = SchemaStore(storage, TablePaths(root)).latest()
    assert schema is not None
    return TableContext.of(T, storage, root, schema)


def create(kind):
    shape, options = TABLES[kind]
    return {
        "op": "create",
        "table": T,
        "fields": FIELDS,
        **shape,
        "options": {"manifest.merge-min-count": "3", **options},
    }


def rows(number, op="write", **fields):
    values = [["+I", p, k, f"{number}"] for p in ("a", "b=c") for k in range(number, number + 3)]
    return {"op": op, "table": T, "rows": values, **fields}


def orphans(oracle, warehouse) -> set[str]:
    return set(oracle.run(warehouse, [{"op": "orphans", "table": T}])[0]["paths"])


def found(context) -> set[str]:
    return {context.paths.relative(f.path) for f in plan(context).files}


COMPACT = {"op": "compact", "table": T, "options": {"write-only": "false"}}
EXPIRE = {"table": T, "retainMin": 2, "retainMax": 3}
LASTING = {
    "timeRetained": 0,
    "changelogRetainMin": 5,
    "changelogRetainMax": 5,
    "changelogTimeRetained": 0,
    "also": False,
}


def history(kind):
    """Commits, killed jobs, a tag of an expired snapshot, a branch with a commit of its own, lasting changelogs."""
    place = {"bucket": 0} if kind == "dynamic bucket" else {}
    killed = {"op": "leave", "options": {"write-only": "true"}, **place}
    expire = {"op": "expireDecoupled", **EXPIRE, **LASTING} if "changelogs" in kind else {"op": "expire", **EXPIRE}
    return [
        create(kind),
        rows(1, **place),
        rows(2, **killed),
        rows(2, **place),
        {"op": "tag", "table": T, "name": "kept", "snapshot": 1},
        *([COMPACT] if kind in ("keyed", "deletion vectors", "changelogs") else []),
        rows(3, **place),
        rows(3, **killed),
        {"op": "branch", "table": T, "name": "dev", "tag": "kept"},
        rows(4, branch="dev", **place),
        rows(5, **place),
        expire,
        rows(6, **place),
        rows(7, branch="dev", **killed),
    ]


@pytest.mark.parametrize("kind", TABLES)
def test_the_same_files_are_orphans_to_java_and_to_us(oracle, warehouse, kind):
    oracle.run(warehouse, history(kind))
    context = opened(warehouse)
    theirs = orphans(oracle, warehouse)
    assert len(theirs) >= 3
    assert bool(context.changelogs.ids()) == ("changelogs" in kind)
    assert bool(context.storage.list(context.paths.index_directory)) == (kind in ("deletion vectors", "dynamic bucket"))
    assert found(context) == theirs
    latest = context.snapshots.ids()[-2]
    oracle.run(warehouse, [{"op": "rollback", "table": T, "snapshot": latest}])
    more = orphans(oracle, warehouse)
    assert len(more) > len(theirs)
    assert found(context) == more
    for name in (f".snapshot-9.{token()[:-2]}.tmp", f".LATEST.{token()[:-2]}.tmp"):
        Path(context.paths.snapshot_directory, name).write_bytes(b"x")
    assert found(context) == orphans(oracle, warehouse)

    answers = [oracle.dump(warehouse, T), oracle.dump(warehouse, T, branch="dev")]
    tagged = oracle.dump(warehouse, T, options={"scan.tag-name": "kept"})
    before = everything(context)
    report = apply_orphan_removal(context, plan(context))
    assert len(report.removed) == len(more) + 2
    assert orphans(oracle, warehouse) == set()
    assert [oracle.dump(warehouse, T), oracle.dump(warehouse, T, branch="dev")] == answers
    assert oracle.dump(warehouse, T, options={"scan.tag-name": "kept"}) == tagged
    undo(context, report.quarantine)
    assert everything(context) == before
    apply_orphan_removal(context, plan(context, mode="delete"))
    place = {"bucket": 0} if kind == "dynamic bucket" else {}
    oracle.run(warehouse, [rows(8, **place), rows(9, branch="dev", **place)])
    assert len(oracle.dump(warehouse, T)) > len(answers[0]) or kind == "postpone"


def test_what_is_not_paimons_is_an_orphan_to_java_only(oracle, warehouse):
    oracle.run(warehouse, [create("append"), rows(1)])
    context = opened(warehouse)
    Path(context.paths.root, "bucket-0", "README.md").write_text("mine")
    Path(context.paths.manifest_directory, "backup").write_text("mine")
    assert orphans(oracle, warehouse) == {"bucket-0/README.md", "manifest/backup"}
    assert found(context) == set()
    assert {p.what for p in plan(context).protected} == {"file bucket-0/README.md", "file manifest/backup"}


def test_java_reads_what_is_left_without_missing_files(oracle, warehouse):
    oracle.run(warehouse, [create("append"), rows(1), rows(10)])
    context = opened(warehouse)
    first = context.manifests.entries_of(context.snapshots.read(1))[0]
    Path(context.paths.data_file("", 0, first.file.file_name)).unlink()
    report = apply_missing_removal(context, plan_missing_removal(context))
    assert report.rows == 6
    left = oracle.dump(warehouse, T)
    assert {row[3] for row in left} == {"10"}
    oracle.run(warehouse, [rows(20)])
    assert len(oracle.dump(warehouse, T)) == 12


def test_manifests_are_compacted_alike(oracle, warehouse):
    compacted = {}
    for who in ("java", "us"):
        place = f"{warehouse}-{who}"
        oracle.run(
            place,
            [
                create("keyed"),
                rows(1),
                rows(2),
                {"op": "compact", "table": T, "options": {"write-only": "false"}},
                rows(3),
            ],
        )
        context = opened(place)
        rows_before = oracle.dump(place, T)
        if who == "java":
            oracle.run(place, [{"op": "compactManifests", "table": T}])
        else:
            compact_manifests(context)
            assert compact_manifests(context) is None
        oracle.run(place, [{"op": "compactManifests", "table": T}])  # nothing left to do for Java either
        assert oracle.dump(place, T) == rows_before
        snapshot = context.snapshots.latest()
        assert snapshot.id == 5
        manifests = context.manifests.manifests_of(snapshot)
        members = snapshot.to_members()
        shape = [(m.num_added_files, m.num_deleted_files, m.min_level, m.max_level) for m in manifests]
        names = ("commitKind", "commitIdentifier", "deltaRecordCount", "totalRecordCount", "schemaId")
        compacted[who] = (
            shape,
            {name: members[name] for name in names},
            members.keys() - {"uuid", "nextRowId", "writerVersion"},
        )
        oracle.run(place, [rows(4)])
        assert len(oracle.dump(place, T)) > 0
    assert compacted["java"] == compacted["us"]

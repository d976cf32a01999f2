"""Symbolic links below a table: no call follows a link, and its target outside of the table stays unchanged."""

import contextlib
import os
import shutil
from pathlib import Path

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.storage.fsspec_storage import FsspecStorage, confined
from paimon_core.storage.symbolic_links import Bounds

SCHEMA = pa.schema([("p", pa.int64()), ("k", pa.int64())])
OPTIONS = {"bucket": "1", "write-only": "true"}


def rows(p, *keys):
    return pa.table({"p": [p] * len(keys), "k": keys}, schema=SCHEMA)


def make(catalog, name="db.t"):
    made = catalog.create_table(name, SCHEMA, primary_key=["p", "k"], partition_by=["p"], options=OPTIONS)
    made.write(rows(1, 1))
    made.write(rows(2, 2))
    made.tags.create("t1", 1)
    made.branches.create("b1", tag="t1")
    return made


@pytest.fixture
def catalog(tmp_path):
    made = paimon.open_catalog(tmp_path / "lake")
    made.create_database("db")
    return made


@pytest.fixture
def table(catalog):
    return make(catalog)


@pytest.fixture
def outside(tmp_path):
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "canary").write_text("alive")
    return folder


def tree(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in Path(folder).rglob("*") if p.is_file()}


def turn_into_link(path, outside):
    """Move a file or directory out of the table, and leave a link to it."""
    target = outside / Path(path).name
    shutil.move(path, target)
    os.symlink(target, path)
    return target


# -- reads


@pytest.mark.parametrize(
    "what",
    [
        "schema",
        "schema/schema-0",
        "snapshot",
        "snapshot/snapshot-2",
        "manifest",
        "manifest/*",
        "p=1",
        "p=1/bucket-0",
        "p=1/bucket-0/*.parquet",
    ],
)
def test_what_lies_behind_a_link_is_not_read(catalog, table, outside, what):
    for path in sorted(Path(table.location).glob(what)):
        turn_into_link(path, outside)
    with pytest.raises(paimon.CorruptTable, match=f"{Path(table.location).name}/.*is a symbolic link"):
        catalog.table("db.t").scan().to_arrow()


def test_a_linked_tag_and_a_linked_branch_are_not_read(table, outside):
    turn_into_link(f"{table.location}/tag/tag-t1", outside)
    turn_into_link(f"{table.location}/branch/branch-b1", outside)
    with pytest.raises(paimon.CorruptTable, match="tag-t1 is a symbolic link"):
        table.at(tag="t1")
    with pytest.raises(paimon.CorruptTable, match="branch-b1 is a symbolic link"):
        table.branch("b1")


# -- writes, deletions, walks

CHANGES = {
    "write": lambda t: t.write(rows(1, 5)),
    "overwrite": lambda t: t.overwrite(rows(1, 5)),
    "compact": lambda t: t.compact(full=True),
    "tags.create": lambda t: t.tags.create("t2", 2),
    "tags.delete": lambda t: t.tags.delete("t1"),
    "tags.rename": lambda t: t.tags.rename("t1", "t2"),
    "branches.create": lambda t: t.branches.create("b2"),
    "branches.delete": lambda t: t.branches.delete("b1"),
    "branches.rename": lambda t: t.branches.rename("b1", "b2"),
    "fast_forward": lambda t: t.branches.fast_forward("b1"),
    "rollback": lambda t: t.rollback(snapshot=1),
    "expire": lambda t: t.expire_snapshots(keep_last=1),
    "mark_done": lambda t: t.maintenance.mark_done({"p": 1}),
    "repair_hints": lambda t: t.maintenance.repair_hints(),
    "compact_manifests": lambda t: t.maintenance.compact_manifests(),
    "orphans": lambda t: t.maintenance.apply(t.maintenance.plan_orphan_removal(mode="delete")),
    "quarantine": lambda t: t.maintenance.apply(t.maintenance.plan_orphan_removal()),
    "purge": lambda t: t.maintenance.apply(t.maintenance.plan_quarantine_purge()),
    "branch deletion": lambda t: t.maintenance.apply(t.maintenance.plan_branch_deletion("b1")),
    "check": lambda t: t.maintenance.check(deep=True),
}
PLACES = ["p=1", "p=1/bucket-0", "manifest", "snapshot", "tag", "branch", "branch/branch-b1", "schema"]


@pytest.mark.parametrize("place", PLACES)
def test_no_call_changes_what_lies_behind_a_link(table, outside, place):
    for path in Path(table.location).rglob("*"):  # old enough to be orphans
        os.utime(path, (1e9, 1e9))
    stray = "data-00000000-0000-0000-0000-000000000000-0.parquet"
    for folder in ("p=1/bucket-0", "manifest"):
        path = Path(table.location, folder, stray)
        path.write_bytes(b"stray")
        os.utime(path, (1e9, 1e9))
    target = turn_into_link(f"{table.location}/{place}", outside)
    before = tree(outside)
    for name, call in CHANGES.items():
        with contextlib.suppress(paimon.PaimonError):
            call(table)
        assert tree(outside) == before, name
    assert target.exists()


@pytest.mark.parametrize("name", ["write", "branches.create", "tags.create"])
def test_a_write_through_a_link_names_it(table, outside, name):
    place = {"write": "p=1/bucket-0", "branches.create": "branch", "tags.create": "tag"}[name]
    turn_into_link(f"{table.location}/{place}", outside)
    with pytest.raises(paimon.CorruptTable, match=f"{place} is a symbolic link"):
        CHANGES[name](table)


def test_a_linked_branch_is_listed_and_deleted_without_its_target(table, outside):
    (outside / "snapshot").mkdir()
    (outside / "snapshot" / "snapshot-1").write_text("precious")
    os.symlink(outside, f"{table.location}/branch/branch-x")
    before = tree(outside)
    assert table.branches.list() == ["b1", "x"]
    table.branches.delete("x")
    assert table.branches.list() == ["b1"]
    assert not os.path.lexists(f"{table.location}/branch/branch-x")
    assert tree(outside) == before


def test_a_quarantine_that_is_a_link_is_not_used(table, outside):
    stray = Path(table.location, "p=1/bucket-0/data-00000000-0000-0000-0000-000000000000-0.parquet")
    stray.write_bytes(b"stray")
    os.utime(stray, (1e9, 1e9))
    os.symlink(outside, f"{table.location}/quarantine")
    plan = table.maintenance.plan_orphan_removal()
    assert [f.path for f in plan.files] == [str(stray)]
    with pytest.raises(paimon.CorruptTable, match="quarantine is a symbolic link"):
        table.maintenance.apply(plan)
    with pytest.raises(paimon.CorruptTable, match="quarantine is a symbolic link"):
        table.maintenance.quarantines()
    assert tree(outside) == {"canary": b"alive"}
    assert stray.exists()


# -- tables and databases


@pytest.mark.parametrize("place", ["p=1", "schema", "snapshot", "branch/branch-b1", "notes"])
def test_a_dropped_table_takes_links_and_not_their_targets(catalog, table, outside, place):
    if place == "notes":
        os.symlink(outside, f"{table.location}/notes")
    else:
        turn_into_link(f"{table.location}/{place}", outside)
    before = tree(outside)
    catalog.drop_table("db.t")
    assert not os.path.lexists(table.location)
    assert tree(outside) == before


@pytest.mark.parametrize("what", ["db.t", "db"])
def test_a_dropped_database_takes_links_and_not_their_targets(catalog, table, outside, what):
    path = f"{catalog.warehouse}/db.db/t" if what == "db.t" else f"{catalog.warehouse}/db.db"
    turn_into_link(path, outside)
    before = tree(outside)
    assert catalog.table("db.t").scan().count() == 2
    catalog.drop_database("db", cascade=True)
    assert catalog.list_databases() == []
    assert tree(outside) == before


def test_a_linked_table_is_dropped_without_its_target(catalog, table, outside):
    turn_into_link(table.location, outside)
    before = tree(outside)
    catalog.drop_table("db.t")
    assert catalog.list_tables("db") == []
    assert tree(outside) == before


def test_a_warehouse_that_is_reached_through_a_link_works(tmp_path):
    real = paimon.open_catalog(tmp_path / "real")
    real.create_database("db")
    make(real)
    os.symlink(tmp_path / "real", tmp_path / "linked")
    catalog = paimon.open_catalog(tmp_path / "linked")
    table = catalog.table("db.t")
    table.write(rows(1, 7))
    table.compact(full=True)
    table.expire_snapshots(keep_last=1)
    table.branches.delete("b1")
    assert table.maintenance.check(deep=True).is_clean
    assert real.table("db.t").scan().count() == 3
    catalog.rename_table("db.t", "db.u")
    catalog.drop_table("db.u")
    assert real.list_tables("db") == []


def test_records_of_a_group_are_not_reached_through_a_link(catalog, table, outside):
    group = catalog.group("g")
    group.publish({"db.t": []})
    turn_into_link(f"{catalog.warehouse}/group/g", outside)
    before = tree(outside)
    for call in (group.latest, lambda: group.publish({"db.t": []}), lambda: group.expire(1)):
        with pytest.raises(paimon.CorruptTable, match="group/g is a symbolic link"):
            call()
    assert tree(outside) == before


# -- the cost


def test_a_directory_of_data_files_is_looked_at_once(tmp_path, monkeypatch):
    (tmp_path / "t" / "a" / "b").mkdir(parents=True)
    looked = []
    lstat = os.lstat
    monkeypatch.setattr(os, "lstat", lambda path: looked.append(path) or lstat(path))
    bounds = Bounds(f"{tmp_path}/t")
    for _ in range(9):
        bounds.check_file(f"{tmp_path}/t/a/b/x.parquet")
    assert [path for path in looked if not path.endswith("x.parquet")] == [f"{tmp_path}/t/a", f"{tmp_path}/t/a/b"]
    bounds.forget()
    os.symlink(tmp_path, tmp_path / "t" / "a" / "c")
    with pytest.raises(paimon.CorruptTable, match="a/c is a symbolic link"):
        bounds.check_file(f"{tmp_path}/t/a/c/x.parquet")


def test_a_storage_stays_confined_once(tmp_path):
    storage = confined(FsspecStorage(), str(tmp_path))
    assert confined(storage, str(tmp_path)) is storage
    assert confined(FsspecStorage("memory"), "/x") == FsspecStorage("memory")

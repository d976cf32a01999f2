"""Copies by reference: two tables share files, and neither loses rows by what the other does."""

import datetime
import errno
import os

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.catalog.linked_copy import linked_copy
from paimon_core.errors import AlreadyExists, CorruptTable, StorageError, TableNotFound, UnsupportedFeature
from paimon_core.storage import local_disk

COLUMNS = {"day": "STRING NOT NULL", "id": "INT NOT NULL", "v": "STRING"}
OPTIONS = {
    "pk": {"bucket": "2", "changelog-producer": "input"},
    "vectors": {"bucket": "1", "deletion-vectors.enabled": "true"},
    "dynamic": {"bucket": "-1"},
    "append": {},
}


@pytest.fixture
def catalog(tmp_path):
    found = paimon.open_catalog(tmp_path / "lake")
    found.create_database("db")
    return found


def orders(catalog, kind="pk"):
    key = {} if kind == "append" else {"primary_key": ["day", "id"]}
    table = catalog.create_table("db.orders", COLUMNS, partition_by="day", options=OPTIONS[kind], **key)
    table.write([{"day": "mon", "id": n, "v": "a"} for n in range(9)])
    table.alter("ADD COLUMN n INT")
    table = catalog["db.orders"]
    table.write([{"day": "tue", "id": n, "v": "b", "n": n} for n in range(9)])
    table.delete("id = 3")
    return table


def rows(table):
    return sorted(map(str, table.scan().to_arrow().to_pylist()))


def emptied(table):
    """Replace all files of the table, and delete every older version."""
    table.overwrite([{"day": "mon", "id": 1, "v": "new", "n": 0}])
    table.compact(full=True)
    table.maintenance.apply(
        table.maintenance.plan_snapshot_expiry(keep_last=1, keep_max=1, older_than=datetime.timedelta(0))
    )


@pytest.mark.parametrize("kind", OPTIONS)
def test_neither_table_loses_rows_by_the_other(catalog, kind):
    table = orders(catalog, kind)
    copy, shared = linked_copy(table, catalog, "db.copy")
    before = rows(table)
    assert (rows(copy), copy.schema.names, copy.schema.primary_keys) == (
        before,
        table.schema.names,
        table.schema.primary_keys,
    )
    assert shared > 4
    assert copy.maintenance.check(deep=True).is_clean
    copy.write([{"day": "wed", "id": 1, "v": "c", "n": 1}])
    assert (len(rows(copy)), rows(table)) == (len(before) + 1, before)
    emptied(table)
    assert len(rows(copy)) == len(before) + 1
    assert copy.maintenance.check(deep=True).is_clean
    again, _ = linked_copy(copy, catalog, "db.again")
    emptied(copy)
    catalog.drop_table("db.copy")
    assert len(rows(again)) == len(before) + 1
    assert again.maintenance.check(deep=True).is_clean
    assert table.maintenance.check(deep=True).is_clean


def test_the_files_are_shared_and_metadata_is_not(catalog, tmp_path):
    table = orders(catalog)
    linked_copy(table, catalog, "db.copy")
    root = tmp_path / "lake" / "db.db" / "copy"
    links = {path.relative_to(root).as_posix(): path.stat().st_nlink for path in root.rglob("*") if path.is_file()}
    kinds = {name.split("/")[0]: count for name, count in links.items()}
    assert kinds == {"day=mon": 2, "day=tue": 2, "manifest": 2, "schema": 1, "snapshot": 1}


def test_a_version_a_branch_and_an_empty_table(catalog):
    table = catalog.create_table("db.orders", COLUMNS, options={"bucket": "-1"})
    empty, shared = linked_copy(table, catalog, "db.empty")
    assert (rows(empty), shared, empty.latest_snapshot()) == ([], 0, None)
    table.write([{"day": "mon", "id": 1, "v": "a"}])
    table.tags.create("first")
    table.branches.create("test", tag="first")
    table.branch("test").write([{"day": "mon", "id": 2, "v": "b"}])
    table.write([{"day": "mon", "id": 3, "v": "c"}])
    assert len(rows(linked_copy(table.at(tag="first"), catalog, "db.tagged")[0])) == 1
    branch, _ = linked_copy(table.branch("test"), catalog, "db.branch")
    assert [row["id"] for row in branch.scan().to_arrow().sort_by("id").to_pylist()] == [1, 2]
    assert branch.maintenance.check(deep=True).is_clean


def test_what_cannot_share_files_is_refused_and_nothing_is_left(catalog, tmp_path, monkeypatch):
    table = orders(catalog)
    memory = paimon.open_catalog("memory://linked")
    memory.create_database("db")
    with pytest.raises(UnsupportedFeature, match=r"table db\.copy is not on the local disk"):
        linked_copy(table, memory, "db.copy")
    with pytest.raises(AlreadyExists):
        linked_copy(table, catalog, "db.orders")
    assert len(rows(table)) == 16

    def refuse(source, target, **_):
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))

    monkeypatch.setattr("paimon_core.storage.local_disk.os.link", refuse)
    with pytest.raises(StorageError):  # even the schema file is published by a link
        linked_copy(table, catalog, "db.copy")
    monkeypatch.undo()
    monkeypatch.setattr("paimon_core.catalog.linked_copy.local_disk.link", refuse)
    with pytest.raises(StorageError, match="in one file system with hard links: copy the rows instead"):
        linked_copy(table, catalog, "db.copy")
    assert catalog.list_tables("db") == ["orders"]
    assert not (tmp_path / "lake" / "db.db" / "copy").exists()


def test_files_outside_of_the_table_are_refused(tmp_path):
    roots = [tmp_path / "outside"]
    catalog = paimon.open_catalog(tmp_path / "lake", allowed_roots=roots)
    catalog.create_database("db")
    options = {"data-file.external-paths": f"file:{roots[0]}", "data-file.external-paths.strategy": "round-robin"}
    table = catalog.create_table("db.orders", pa.schema([("id", pa.int64())]), options=options)
    table.write([{"id": 1}])
    with pytest.raises(UnsupportedFeature, match="is outside of its table, at file:"):
        linked_copy(table, catalog, "db.copy")
    assert catalog.list_tables("db") == ["orders"]


def test_no_file_behind_a_symbolic_link_is_shared(catalog, tmp_path):
    table = orders(catalog)
    root = tmp_path / "lake" / "db.db" / "orders" / "day=mon"
    root.rename(tmp_path / "elsewhere")
    root.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CorruptTable, match="which leads out of table"):
        linked_copy(table, catalog, "db.copy")
    assert catalog.list_tables("db") == ["orders"]


def test_a_missing_file_is_named(catalog, tmp_path):
    table = orders(catalog)
    lost = next((tmp_path / "lake" / "db.db" / "orders").rglob("data-*.parquet"))
    lost.unlink()
    with pytest.raises(CorruptTable, match=rf"{lost.name} is missing"):
        linked_copy(table, catalog, "db.copy")
    assert catalog.list_tables("db") == ["orders"]


def without_first_schema(table, tmp_path):
    """Return the table after its schema 0 was deleted, as another program may do."""
    (tmp_path / "lake" / "db.db" / "orders" / "schema" / "schema-0").unlink()
    return paimon.open_catalog(tmp_path / "lake").table(table.name)


def test_a_table_without_schema_0_can_be_copied(catalog, tmp_path):
    table = orders(catalog)
    emptied(table)
    table = without_first_schema(table, tmp_path)
    copy, _ = linked_copy(table, catalog, "db.copy")
    assert rows(copy) == rows(table)
    assert copy.context.schemas.ids() == [0, 1]
    assert copy.schema.id == table.schema.id
    assert copy.maintenance.check(deep=True).errors == table.maintenance.check(deep=True).errors


def at_each_step(monkeypatch, act):
    """Call ``act`` before each step of a copy: each link, the sync of directories and the rename to the final name."""
    link, sync, move = local_disk.link, local_disk.sync_directories, local_disk.move_directory

    def before(step):
        def stepped(*args):
            act()
            return step(*args)

        return stepped

    monkeypatch.setattr("paimon_core.catalog.linked_copy.local_disk.link", before(link))
    monkeypatch.setattr("paimon_core.catalog.linked_copy.local_disk.sync_directories", before(sync))
    monkeypatch.setattr("paimon_core.storage.fsspec_storage.local_disk.move_directory", before(move))


def test_no_process_finds_the_copy_before_it_is_whole(catalog, tmp_path, monkeypatch):
    """So no commit can be below the copied snapshot, whichever program makes it."""
    table, seen = orders(catalog), []

    def look():
        seen.append((catalog.list_tables("db"), (tmp_path / "lake" / "db.db" / "copy").exists()))
        with pytest.raises(TableNotFound):
            catalog.table("db.copy")

    at_each_step(monkeypatch, look)
    copy, shared = linked_copy(table, catalog, "db.copy")
    assert seen == [(["orders"], False)] * (shared + 2)
    assert catalog.list_tables("db") == ["copy", "orders"]
    assert rows(copy) == rows(table)
    assert not list((tmp_path / "lake" / "db.db").glob(".*"))


@pytest.mark.parametrize("step", range(3))
def test_a_table_that_another_process_creates_and_writes_stays(catalog, tmp_path, monkeypatch, step):
    """The last moment (step 2) is between the check of the name and the rename."""
    table, steps = orders(catalog), iter(range(100))
    emptied(table)
    row = {"day": "x", "id": 1, "v": "theirs"}

    def create(*_):
        if next(steps) == 0:
            catalog.create_table("db.copy", COLUMNS).write([row])

    if step == 2:
        rename = os.rename

        def raced(source, target):
            if target.endswith("/copy"):
                create()
            return rename(source, target)

        monkeypatch.setattr("paimon_core.storage.local_disk.os.rename", raced)
    else:
        steps = iter(range(-step, 100))
        at_each_step(monkeypatch, create)
    with pytest.raises(AlreadyExists, match=r"db\.copy already exists: another process has just created it"):
        linked_copy(table, catalog, "db.copy")
    assert catalog.table("db.copy").scan().to_arrow().to_pylist() == [row]
    assert not list((tmp_path / "lake" / "db.db").glob(".*"))


def test_a_directory_that_is_no_table_is_not_replaced(catalog, tmp_path):
    table, place = orders(catalog), tmp_path / "lake" / "db.db" / "copy"
    place.mkdir()
    (place / "notes.txt").write_text("mine")
    with pytest.raises(AlreadyExists, match=r"cannot take the place of the directory .*copy, which exists"):
        linked_copy(table, catalog, "db.copy")
    assert (place / "notes.txt").read_text() == "mine"
    (place / "notes.txt").unlink()
    assert rows(linked_copy(table, catalog, "db.copy")[0]) == rows(table)


@pytest.mark.parametrize("is_pinned", [False, True])
def test_a_commit_to_the_source_meanwhile_is_not_copied(catalog, monkeypatch, is_pinned):
    table = orders(catalog)
    before, left = rows(table), [1]
    view = table.at(snapshot=table.latest_snapshot().id) if is_pinned else table

    def commit():
        if left:
            left.clear()
            table.write([{"day": "late", "id": 1, "v": "late", "n": 1}])

    at_each_step(monkeypatch, commit)
    copy, _ = linked_copy(view, catalog, "db.copy")
    assert (rows(copy), len(rows(table))) == (before, len(before) + 1)


def test_a_version_that_expires_meanwhile_is_an_error(catalog, monkeypatch):
    table, left = orders(catalog), [1]

    def expire():
        if left:
            left.clear()
            emptied(table)

    at_each_step(monkeypatch, expire)
    with pytest.raises(CorruptTable, match=r"the version of table db\.orders expired meanwhile"):
        linked_copy(table, catalog, "db.copy")
    assert catalog.list_tables("db") == ["orders"]


@pytest.mark.parametrize("is_created_again", [False, True])
def test_a_source_that_is_dropped_meanwhile_is_an_error(catalog, monkeypatch, is_created_again):
    table, left = catalog.create_table("db.orders", COLUMNS), [1]
    table.write([])

    def drop():
        if left:
            left.clear()
            catalog.drop_table("db.orders")
            if is_created_again:
                catalog.create_table("db.orders", {"x": "INT"})

    monkeypatch.setattr("paimon_core.catalog.linked_copy._for_new_table", lambda schema: (drop(), schema)[1])
    with pytest.raises(TableNotFound, match=r"table db\.orders was dropped or re-created"):
        linked_copy(table, catalog, "db.copy")
    assert "copy" not in catalog.list_tables("db")

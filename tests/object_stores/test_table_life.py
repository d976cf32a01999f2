"""All operations on a table in an object store, compared with the local disk; and listings longer than a page."""

from dataclasses import replace

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.storage.object_stores import object_storage
from paimon_core.storage.open import open_storage
from tests.object_stores.conftest import open_place

pytestmark = pytest.mark.filterwarnings("ignore:Sending a large body directly:ResourceWarning")


def rows(first, last, tag):
    keys = range(first, last)
    return pa.table({"d": [f"d{k % 2}" for k in keys], "k": list(keys), "v": [f"{tag}{k}" for k in keys]})


def life(url, options):
    """Return what a reader sees after each step."""
    catalog = paimon.open_catalog(url, storage=options)
    catalog.create_database("db")
    table = catalog.create_table(
        "db.t",
        rows(0, 1, "").schema,
        primary_key=["d", "k"],
        partition_by=["d"],
        options={"bucket": "2", "write-only": "true"},
    )
    seen = []

    def record_state(table):
        found = table.scan().to_arrow().sort_by([("d", "ascending"), ("k", "ascending")])
        snapshot = table.latest_snapshot()
        seen.append((snapshot and snapshot.id, found.to_pydict()))

    record_state(table)
    for step in range(4):
        table.write(rows(step * 10, step * 10 + 25, f"s{step}-"), user="u", identifier=step)
        record_state(table)
    table.tags.create("kept", 2)
    table.compact(full=True)
    record_state(table)
    table.delete(paimon.col("k") < 10)
    record_state(table)
    seen.append(table.expire_snapshots(keep_last=3, keep_max=3).expired)
    record_state(table)
    record_state(table.at(tag="kept"))
    table.rollback(snapshot=table.latest_snapshot().id - 1)
    record_state(table)
    table.write(rows(0, 3, "after-"))
    record_state(table)
    root = table.context.paths.root
    seen.append(sorted(f.path.removeprefix(root).split("/")[1] for f in table.context.storage.walk(root)))
    catalog.drop_table("db.t")
    assert catalog.list_tables("db") == []
    catalog.drop_database("db")
    assert list(catalog.storage.walk(catalog.warehouse)) == []
    return seen


@pytest.mark.parametrize("kind", ["s3", "gcs", "azure"])
def test_a_table_behaves_as_on_the_local_disk(kind, request, tmp_path):
    storage, root = open_place(kind, request)
    options = {name: value if isinstance(value, str) else value.reveal() for name, value in storage.options}
    assert life(root, options) == life(str(tmp_path / "w"), None)


def test_listings_longer_than_a_page(s3, monkeypatch):
    storage, root = open_storage(s3.url, s3.options)
    store = replace(storage._store, page_keys=20)
    monkeypatch.setattr(object_storage, "connection", lambda *place: store)
    names = [f"f{n:02d}" for n in range(50)]
    for name in names:
        storage.write(f"{root}/t/{name}", b"1")
        storage.write(f"{root}/t/{name}.d/x", b"1")
    assert [f.name for f in storage.list(f"{root}/t") if not f.is_directory] == names
    assert [f.name for f in storage.list(f"{root}/t") if f.is_directory] == [f"{name}.d" for name in names]
    assert len(list(storage.walk(root))) == 100
    assert storage.delete(f"{root}/t/{name}" for name in names[:30]) == 30
    assert len(storage.list(f"{root}/t")) == 70
    storage.delete_directory(f"{root}/t")
    assert storage.list(root) == []


@pytest.mark.parametrize("kind", ["s3", "gcs"])
def test_objects_that_represent_directories_are_no_files(kind, request):
    storage, root = open_place(kind, request)
    store = storage._store
    key = storage._key(f"{root}/t")
    for marker in (f"{key}/", f"{key}/snapshot/", f"{key}/snapshot/empty/"):
        store.put(marker, b"")
    storage.write(f"{root}/t/snapshot/snapshot-1", b"1")
    assert [(f.name, f.is_directory) for f in storage.list(f"{root}/t")] == [("snapshot", True)]
    assert [(f.name, f.is_directory) for f in storage.list(f"{root}/t/snapshot")] == [
        ("empty", True),
        ("snapshot-1", False),
    ]
    assert [f.name for f in storage.walk(root)] == ["snapshot-1"]
    storage.delete_directory(f"{root}/t")
    assert store.page(key, is_flat=True, token=None).objects == ()

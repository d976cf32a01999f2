import json
import pickle
import threading
import uuid
from dataclasses import replace

import pyarrow as pa
import pytest

from paimon_core.errors import CorruptTable, UnsupportedFeature
from paimon_core.metadata.stores.schema_store import DROPPED, SchemaStore
from paimon_core.schema import TableSchema, new_schema
from paimon_core.storage.fsspec_storage import FsspecStorage
from paimon_core.storage.paths import TablePaths
from tests.support.faulty_storage import FaultyStorage

FIRST = new_schema(
    pa.schema([("k", pa.int32()), ("p", pa.date32()), ("v", pa.string())]),
    primary_key=["k", "p"],
    partition_by=["p"],
    options={"bucket": "2"},
    comment="ü",
)


def numbered(number):
    return TableSchema(number, FIRST.fields, FIRST.highest_field_id, ("p",), ("k", "p"), {"bucket": str(number)})


@pytest.fixture
def store():
    storage, root = FsspecStorage("memory"), f"/{uuid.uuid4()}"
    yield SchemaStore(storage, TablePaths(root))
    storage.delete_directory(root)


class Remote(FaultyStorage):
    @property
    def is_remote(self):
        return True


def test_a_remote_store_requests_the_first_schema_with_the_listing(store):
    remote = SchemaStore(Remote(store.storage), store.paths)
    assert remote.latest() is None
    store.publish(numbered(0))
    assert remote.latest() == numbered(0)
    assert [verb for verb, _ in remote.storage.calls].count("read") == 2
    store.publish(numbered(1))
    assert remote.latest() == numbered(1)
    store.storage.overwrite(store.paths.schema(0), b"?")
    fresh = SchemaStore(remote.storage, store.paths)
    assert fresh.latest() == numbered(1)  # a damaged older schema is no error
    store.storage.overwrite(store.paths.schema(1), b"?")
    with pytest.raises(CorruptTable, match="schema-1"):
        SchemaStore(remote.storage, store.paths).latest()
    store.storage.write(f"{store.paths.schema_directory}/{DROPPED}", b"x")
    assert remote.latest() is None


def test_a_first_schema_of_a_dropped_table_is_not_kept_below_a_newer_schema(store):
    """The table is dropped, created and altered between the read of schema 0 and the listing."""
    store.publish(numbered(0))
    remote = SchemaStore(Remote(store.storage), store.paths)
    was_read = threading.Event()
    other = replace(numbered(0), options={"bucket": "7"})

    def create_again():
        assert was_read.wait(20)
        store.storage.delete([store.paths.schema(0)])
        store.publish(other)
        store.publish(numbered(1))

    def read(path):
        data = store.storage.read(path)
        was_read.set()
        return data

    remote.storage.before("list", "schema", create_again)
    remote.storage.inner = Reading(store.storage, read)
    assert remote.latest() == numbered(1)
    assert remote.read(0) == other


class Reading:
    """A storage with another method ``read``."""

    def __init__(self, inner, read):
        self.inner, self.read = inner, read

    def __getattr__(self, name):
        return getattr(self.inner, name)


def test_a_caller_that_changes_the_options_changes_no_other_store(store):
    store.publish(numbered(0))
    first, second = SchemaStore(store.storage, store.paths), SchemaStore(store.storage, store.paths)
    assert first.holds(numbered(0))
    for found in (store.latest(), first.read(0)):
        found.options["bucket"] = "99"
    assert second.latest() == numbered(0)
    assert second.holds(numbered(0))


def test_the_latest_is_the_highest_number(store):
    assert store.latest() is None
    for number in (0, 9, 10):
        assert store.publish(numbered(number))
    store.storage.write(f"{store.paths.schema_directory}/schema-011", b"x")
    store.storage.write(f"{store.paths.schema_directory}/.schema-12.u.tmp", b"x")
    assert store.latest() == numbered(10)
    assert store.all() == [numbered(0), numbered(9), numbered(10)]
    assert store.ids() == [0, 9, 10]


def test_an_id_is_used_once(store):
    assert store.publish(FIRST)
    assert not store.publish(numbered(0))
    assert store.read(0) == FIRST


def test_schemas_are_read_once(store, monkeypatch):
    store.publish(FIRST)
    assert store.read(0) == FIRST
    copy = pickle.loads(pickle.dumps(store))  # noqa: S301
    monkeypatch.setattr(FsspecStorage, "read", lambda *args: pytest.fail("read again"))
    assert store.read(0) == FIRST
    assert copy.read(0) == FIRST


def test_a_missing_schema_is_named(store):
    with pytest.raises(CorruptTable, match=r"schema 3 is missing.*schema/schema-3"):
        store.read(3)


GOOD = json.loads(FIRST.to_json())
FIELD = GOOD["fields"][2]


def with_field(**change):
    return {"fields": [*GOOD["fields"][:2], FIELD | change]}


BAD = [
    b"",
    b"{",
    b"[]",
    b"null",
    b"\xff",
    b"[" * 100_000,
    FIRST.to_json()[:-9].encode(),
    *(
        json.dumps(GOOD | change).encode()
        for change in (
            {"id": 1},
            {"id": "x"},
            {"id": float("inf")},
            {"highestFieldId": []},
            {"fields": None},
            {"fields": [7]},
            {"fields": [{}]},
            with_field(type="NUMBER"),
            with_field(type=7),
            with_field(type="DECIMAL(99, 1)"),
            with_field(name="k"),
            with_field(id=0),
            {"options": ["bucket"]},
            {"partitionKeys": ["q"]},
            {"primaryKeys": ["k", "z"]},
            {"primaryKeys": 7},
            {"version": "x"},
            {"timeMillis": "noon"},
        )
    ),
]


@pytest.mark.parametrize("data", BAD, ids=lambda data: repr(data[:30]))
def test_a_bad_file_is_named(store, data):
    store.storage.write(store.paths.schema(0), data)
    with pytest.raises(CorruptTable, match="schema/schema-0"):
        store.read(0)


@pytest.mark.parametrize(
    ("change", "named"),
    [({"version": 4}, "version 4"), (with_field(type={"type": "VECTOR", "element": "INT", "length": 3}), "VECTOR")],
)
def test_unsupported_features_are_named(store, change, named):
    store.storage.write(store.paths.schema(0), json.dumps(GOOD | change).encode())
    with pytest.raises(UnsupportedFeature, match=f"schema-0.*{named}"):
        store.read(0)

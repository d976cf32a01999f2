import json
import time
import uuid

import pytest

from paimon_core.errors import AlreadyExists, CorruptTable, InvalidRequest, TagNotFound
from paimon_core.metadata.snapshot import CommitKind, Snapshot
from paimon_core.metadata.stores.tag_store import Tag, TagStore
from paimon_core.storage.fsspec_storage import FsspecStorage
from paimon_core.storage.paths import TablePaths
from tests.support.faulty_storage import FaultyStorage, Outcome

SNAPSHOT = Snapshot(7, 0, "b", "d", "u", 1, CommitKind.APPEND, 5000, 3, 1)
AT = 1795263813454
"""2026-11-21T12:23:33.454 in UTC."""


@pytest.fixture
def store():
    storage, root = FsspecStorage("memory"), f"/{uuid.uuid4()}"
    yield TagStore(storage, TablePaths(root))
    storage.delete_directory(root)


@pytest.fixture
def zone(monkeypatch):
    """Set the time zone of this process."""

    def use(name):
        monkeypatch.setenv("TZ", name)
        time.tzset()

    yield use
    monkeypatch.undo()
    time.tzset()


def members(store, name):
    return json.loads(store.storage.read(store.paths.tag(name)))


def put(store, name, **change):
    store.storage.write(store.paths.tag(name), json.dumps(SNAPSHOT.to_members() | change).encode())


def test_a_tag_without_retention_is_its_snapshot(store):
    made = store.create("eod", SNAPSHOT)
    assert made == Tag("eod", SNAPSHOT)
    assert made.expires_millis is None
    assert members(store, "eod") == SNAPSHOT.to_members()
    assert store.read("eod") == made
    assert store.exists("eod")


def test_a_retention_is_written_with_the_local_time(store, zone):
    zone("Asia/Shanghai")
    made = store.create("kept", SNAPSHOT, retained_millis=90_061_500, now_millis=AT)
    assert members(store, "kept") == SNAPSHOT.to_members() | {
        "tagCreateTime": [2026, 11, 21, 20, 23, 33, 454_000_000],
        "tagTimeRetained": 90061.5,
    }
    assert store.read("kept") == made == Tag("kept", SNAPSHOT, AT, 90_061_500)
    assert made.expires_millis == AT + 90_061_500


def test_now_is_the_default(store):
    before = time.time_ns() // 1_000_000
    made = store.create("now", SNAPSHOT, retained_millis=1)
    assert before <= made.create_time_millis <= time.time_ns() // 1_000_000
    assert store.read("now") == made


@pytest.mark.parametrize(
    ("text", "millis"),
    [
        ("259200.000000000", 259_200_000),
        ("3600", 3_600_000),
        ("0.0015", 1),
        ('"PT72H5M"', 259_500_000),
        ('"P3D"', 259_200_000),
        ('"P1DT2H3M4.5S"', 93_784_500),
        ('"PT0S"', 0),
        ('"-PT1M"', -60_000),
        ('"pt1h"', 3_600_000),
        ("null", None),
    ],
)
def test_durations(store, text, millis):
    data = json.dumps(SNAPSHOT.to_members())[:-1] + f', "tagTimeRetained": {text}}}'
    store.storage.write(store.paths.tag("t"), data.encode())
    assert store.read("t").retained_millis == millis


@pytest.mark.parametrize(
    ("value", "millis"),
    [
        ([2026, 11, 21, 12, 23, 33, 454014507], AT),
        ([2026, 11, 21, 12, 23, 33], AT - 454),
        ([2026, 11, 21, 12, 23], AT - 33_454),
        ("2026-11-21T12:23:33.454", AT),
        ([1969, 12, 31, 23, 59, 59, 999_000_000], -1),
        (None, None),
    ],
)
def test_times(store, zone, value, millis):
    zone("UTC")
    put(store, "t", tagCreateTime=value)
    assert store.read("t").create_time_millis == millis


def test_names(store):
    with pytest.raises(InvalidRequest):
        store.create("a/b", SNAPSHOT)
    for name in ("20240115", "2024-01-15 10", "月末"):
        store.create(name, SNAPSHOT)
    assert [t.name for t in store.list()] == ["2024-01-15 10", "20240115", "月末"]


def test_a_taken_name(store):
    store.create("eod", SNAPSHOT)
    with pytest.raises(AlreadyExists, match="'eod'"):
        store.create("eod", SNAPSHOT, retained_millis=5)
    assert store.read("eod").retained_millis is None


def test_a_missing_tag_names_the_nearest_tags(store):
    def error(call=store.read):
        with pytest.raises(TagNotFound) as found:
            call("day-14")
        return str(found.value)

    path = store.paths.tag("day-14")
    for call in (store.read, store.delete, store.source, store.renamed_from):
        assert error(call) == f"no tag 'day-14': {path} does not exist (tags: none)"
    for number in range(12):
        store.create(f"month-{number:02}", SNAPSHOT)
    store.create("Day-14", SNAPSHOT)
    assert error().startswith(f"no tag 'day-14': {path} does not exist (tags: Day-14, ")
    assert error().endswith(", ... (13 in all))")


def test_a_missing_tag_is_told_also_when_the_others_cannot_be_listed(store):
    storage = FaultyStorage(store.storage)
    storage.on("list", "tag", Outcome.FAIL)
    missing = TagStore(storage, store.paths)
    with pytest.raises(TagNotFound, match=r"does not exist$"):
        missing.read("eod")


def test_missing_tags(store):
    assert store.list() == []
    assert not store.exists("eod")
    for call in (store.read, store.delete):
        with pytest.raises(TagNotFound, match="'eod'"):
            call("eod")


def test_deletion(store):
    store.create("eod", SNAPSHOT)
    store.delete("eod")
    assert store.list() == []


def test_the_listing_contains_names_that_this_library_refuses(store):
    """A tag of another engine protects its files, whatever its name is."""
    store.storage.write(f"{store.paths.tag_directory}/tag-.a$b", json.dumps(SNAPSHOT.to_members()).encode())
    store.storage.write(f"{store.paths.tag_directory}/.tag-x.u.tmp", b"half")
    assert store.list() == [Tag(".a$b", SNAPSHOT)]


def test_a_tag_deleted_during_the_listing(store, monkeypatch):
    store.create("a", SNAPSHOT)
    store.create("b", SNAPSHOT)
    real = FsspecStorage.list

    def delete_meanwhile(self, directory):
        found = real(self, directory)
        store.delete("a")
        return found

    monkeypatch.setattr(FsspecStorage, "list", delete_meanwhile)
    assert [t.name for t in store.list()] == ["b"]


BAD_TIMES = [
    {"tagCreateTime": value}
    for value in (
        7,
        [],
        [2026, 1, 1],
        [2026, 13, 1, 0, 0],
        [2026, 1, 1, 0, 0, 0, -1],
        [2026, 1, 1, 0, 0, 0, 10**10],
        ["2026", 1, 1, 0, 0],
        [2026, 1, 1, 0, 0, True],
        [10**9, 1, 1, 0, 0],
        [10**30, 1, 1, 0, 0],
        "noon",
        {},
    )
] + [
    {"tagTimeRetained": value}
    for value in ("", "P", "PT", "3 days", "P1Y", True, [], {}, float("nan"), float("inf"), 1e300, 10**400)
]


@pytest.mark.parametrize("change", [*BAD_TIMES, {"id": "7"}, {"baseManifestList": None}], ids=repr)
def test_a_bad_file_is_named(store, change):
    put(store, "t", **change)
    with pytest.raises(CorruptTable, match="tag/tag-t"):
        store.read("t")
    with pytest.raises(CorruptTable, match="tag/tag-t"):
        store.list()


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"\xff"])
def test_text_that_is_not_a_tag_is_refused(store, data):
    store.storage.write(store.paths.tag("t"), data)
    with pytest.raises(CorruptTable, match="tag/tag-t"):
        store.read("t")

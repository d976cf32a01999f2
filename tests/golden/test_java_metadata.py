"""The metadata of a table that Apache Paimon 1.4.2 (Java) wrote, against literal expectations (README.md beside it)."""

import json
import time
from pathlib import Path

import pytest

from paimon_core.codec.binary_row.rows import decode_row
from paimon_core.metadata.column_stats import ColumnStats
from paimon_core.metadata.data_file import DataFile, FileSource
from paimon_core.metadata.manifests.described import describe
from paimon_core.metadata.manifests.entries import FileKind, ManifestEntry
from paimon_core.metadata.snapshot import CommitKind, Snapshot
from paimon_core.metadata.stores.manifest_store import ManifestStore
from paimon_core.metadata.stores.schema_store import SchemaStore
from paimon_core.metadata.stores.snapshot_store import SnapshotStore
from paimon_core.metadata.stores.tag_store import Tag, TagStore
from paimon_core.schema import DataField, TableSchema
from paimon_core.storage.fsspec_storage import FsspecStorage
from paimon_core.storage.paths import TablePaths
from paimon_core.types import parse_type

ROOT = Path(__file__).parent / "java-1.4.2" / "partitioned"
STORAGE, PATHS = FsspecStorage("file"), TablePaths(str(ROOT))
DATE, STRING = parse_type("DATE NOT NULL"), parse_type("STRING NOT NULL")
SNAPSHOTS = SnapshotStore(STORAGE, PATHS)
MANIFESTS = ManifestStore(STORAGE, PATHS, [DATE, STRING])

FIRST = Snapshot(
    id=1,
    schema_id=0,
    base_manifest_list="manifest-list-db44eb82-9295-41e3-916a-e7bd792682f3-0",
    base_manifest_list_size=1006,
    delta_manifest_list="manifest-list-db44eb82-9295-41e3-916a-e7bd792682f3-1",
    delta_manifest_list_size=1166,
    commit_user="u1",
    commit_identifier=1,
    commit_kind=CommitKind.APPEND,
    time_millis=1795263812965,
    total_record_count=3,
    delta_record_count=3,
    next_row_id=0,
)


def manifests_of(snapshot):
    return [
        *MANIFESTS.read_list(snapshot.base_manifest_list, snapshot.base_manifest_list_size),
        *MANIFESTS.read_list(snapshot.delta_manifest_list, snapshot.delta_manifest_list_size),
    ]


def test_the_schema():
    assert SchemaStore(STORAGE, PATHS).latest() == TableSchema(
        id=0,
        fields=(
            DataField(0, "dt", DATE),
            DataField(1, "region", STRING),
            DataField(2, "id", parse_type("INT NOT NULL")),
            DataField(3, "v", parse_type("DOUBLE")),
            DataField(4, "name", parse_type("VARCHAR(20)")),
        ),
        highest_field_id=4,
        partition_keys=("dt", "region"),
        primary_keys=("dt", "region", "id"),
        options={"bucket": "2"},
        time_millis=1795263810923,
    )


def test_the_snapshots():
    assert (SNAPSHOTS.earliest_id(), SNAPSHOTS.latest_id(), SNAPSHOTS.ids()) == (1, 3, [1, 2, 3])
    assert SNAPSHOTS.read(1) == FIRST
    last = SNAPSHOTS.latest()
    assert last is not None
    assert (last.id, last.commit_kind, last.commit_identifier) == (3, CommitKind.COMPACT, 2**63 - 1)
    assert (last.total_record_count, last.delta_record_count) == (2, -3)
    assert SNAPSHOTS.as_of(1795263813415).id == 1
    assert SNAPSHOTS.as_of(1795263813416).id == 2


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_snapshot_written_back_has_the_same_members_in_the_same_order(number):
    text = STORAGE.read(PATHS.snapshot(number))
    assert list(json.loads(SNAPSHOTS.read(number).to_json()).items()) == list(json.loads(text).items())


def test_the_tags(monkeypatch):
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    try:
        assert TagStore(STORAGE, PATHS).list() == [
            Tag("first", FIRST),
            Tag("kept 3 days", SNAPSHOTS.read(2), create_time_millis=1795263813454, retained_millis=259_200_000),
        ]
    finally:
        monkeypatch.undo()
        time.tzset()


def test_an_entry():
    """The first file: rows 1 and 2 of ``2024-01-15``, ``north pole, far away``."""
    (manifest,) = manifests_of(FIRST)
    entries = MANIFESTS.read_manifest(manifest.file_name, manifest.file_size)
    text = b"north pole, far "
    fixed = b"\x19M\0\0\0\0\0\0" + b"\x10\0\0\0\x30\0\0\0"
    key_1, key_2 = (b"\0\0\0\1" + bytes(8) + bytes([key]) + bytes(7) for key in (1, 2))
    assert entries[0] == ManifestEntry(
        FileKind.ADD,
        b"\0\0\0\2" + bytes(8) + b"\x19M\0\0\0\0\0\0" + b"\x14\0\0\0\x18\0\0\0" + b"north pole, far away" + bytes(4),
        0,
        2,
        DataFile(
            file_name="data-80d31b18-1822-4d42-af04-5d0515b21dae-0.parquet",
            file_size=entries[0].file.file_size,
            row_count=2,
            schema_id=0,
            level=0,
            min_key=key_1,
            max_key=key_2,
            key_stats=ColumnStats(key_1, key_2, (0,)),
            value_stats=ColumnStats(
                b"\0\0\0\5" + bytes(8) + fixed + b"\1" + bytes(7) + b"\0\0\0\0\0\0\xf8?" + b"a\0\0\0\0\0\0\x81" + text,
                b"\0\0\0\5"
                + bytes(8)
                + fixed
                + b"\2"
                + bytes(7)
                + b"\0\0\0\0\0\0\4@"
                + b"b\0\0\0\0\0\0\x81"
                + text[:-1]
                + b"!",
                (0, 0, 0, 0, 0),
            ),
            min_sequence_number=0,
            max_sequence_number=1,
            creation_time_millis=1795263812651,
            delete_row_count=0,
            file_source=FileSource.APPEND,
        ),
    )
    assert 1000 < entries[0].file.file_size < 3000


def test_the_changes_of_the_compaction():
    last = SNAPSHOTS.read(3)
    delta = MANIFESTS.read_list(last.delta_manifest_list)[0]
    entries = MANIFESTS.read_manifest(delta.file_name, delta.file_size)
    north, other = (19737, "north pole, far away"), (-1, "ä/x")
    assert [
        (e.kind, decode_row(e.partition, [DATE, STRING]), e.bucket, e.file.level, e.file.file_name[5:13])
        for e in entries
    ] == [
        (FileKind.DELETE, north, 0, 0, "ec8002ab"),
        (FileKind.DELETE, north, 0, 0, "80d31b18"),
        (FileKind.ADD, north, 0, 5, "5b156f99"),
        (FileKind.DELETE, other, 1, 0, "d15b81bf"),
        (FileKind.DELETE, other, 1, 0, "75acc549"),
        (FileKind.ADD, other, 1, 5, "f9fde6bc"),
    ]
    assert [e.file.delete_row_count for e in entries] == [1, 0, 0, 0, 0, 0]
    assert entries[5].file.file_source is FileSource.COMPACT


def test_the_live_files_of_every_snapshot():
    assert [[e.file.file_name[5:13] for e in MANIFESTS.entries_of(SNAPSHOTS.read(n))] for n in (1, 2, 3)] == [
        ["80d31b18", "d15b81bf"],
        ["80d31b18", "d15b81bf", "ec8002ab", "75acc549"],
        ["5b156f99", "f9fde6bc"],
    ]


def test_what_we_would_record_of_a_manifest_is_what_java_recorded():
    """Counts, ranges, and the partition statistics to the byte, full length and with the characters beyond ASCII."""
    manifests = manifests_of(SNAPSHOTS.read(3))
    assert len(manifests) == 3
    for manifest in manifests:
        entries = MANIFESTS.read_manifest(manifest.file_name)
        assert describe(manifest.file_name, manifest.file_size, entries, [DATE, STRING]) == manifest

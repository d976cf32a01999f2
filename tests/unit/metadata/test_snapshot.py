import json

import pytest

from paimon_core.errors import CorruptTable, UnsupportedFeature
from paimon_core.metadata.snapshot import CommitKind, Snapshot

SNAPSHOT = Snapshot(
    id=5,
    schema_id=0,
    base_manifest_list="manifest-list-a-2",
    base_manifest_list_size=1211,
    delta_manifest_list="manifest-list-a-3",
    delta_manifest_list_size=1122,
    commit_user="u1",
    commit_identifier=3,
    commit_kind=CommitKind.COMPACT,
    time_millis=1720496663041,
    total_record_count=25,
    delta_record_count=-6,
    next_row_id=0,
)


def test_the_members_of_the_documented_example():
    assert json.loads(SNAPSHOT.to_json()) == {
        "version": 3,
        "id": 5,
        "schemaId": 0,
        "baseManifestList": "manifest-list-a-2",
        "baseManifestListSize": 1211,
        "deltaManifestList": "manifest-list-a-3",
        "deltaManifestListSize": 1122,
        "commitUser": "u1",
        "commitIdentifier": 3,
        "commitKind": "COMPACT",
        "timeMillis": 1720496663041,
        "totalRecordCount": 25,
        "deltaRecordCount": -6,
        "nextRowId": 0,
    }
    assert Snapshot.from_json(SNAPSHOT.to_json()) == SNAPSHOT


def test_unknown_members_are_ignored_and_nulls_are_absent():
    value = SNAPSHOT.to_members() | {"logOffsets": {}, "watermark": None, "mystery": 1}
    assert Snapshot.from_members(value) == SNAPSHOT


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"{}", b"\xff\xfe", b'"x"', b"null"])
def test_text_that_is_not_a_snapshot_is_refused(text):
    with pytest.raises(CorruptTable):
        Snapshot.from_json(text)


@pytest.mark.parametrize(("member", "value"), [("id", "5"), ("timeMillis", 1.5), ("commitKind", "MERGE"), ("id", True)])
def test_mistyped_members(member, value):
    with pytest.raises(CorruptTable):
        Snapshot.from_members(SNAPSHOT.to_members() | {member: value})


OLDER = {
    "id": 7,
    "schemaId": 0,
    "baseManifestList": "manifest-list-a-0",
    "deltaManifestList": "manifest-list-a-1",
    "changelogManifestList": None,
    "commitUser": "u",
    "commitIdentifier": 2**63 - 1,
    "commitKind": "APPEND",
    "timeMillis": 1700000000000,
    "logOffsets": {"0": 12},
    "watermark": -(2**63),
}


@pytest.mark.parametrize("version", [{}, {"version": 1}, {"version": 2}], ids=["none", "one", "two"])
def test_snapshots_of_older_versions_lack_members(version):
    snapshot = Snapshot.from_members(OLDER | version)
    assert (snapshot.id, snapshot.total_record_count, snapshot.delta_record_count) == (7, 0, 0)
    assert (snapshot.base_manifest_list_size, snapshot.uuid, snapshot.next_row_id) == (None, None, None)
    assert snapshot.watermark == -(2**63)


def test_a_newer_version_is_refused():
    with pytest.raises(UnsupportedFeature, match="4"):
        Snapshot.from_members(SNAPSHOT.to_members() | {"version": 4})

"""Statistics: the JSON of the file, written and read, and files that are not statistics."""

import json

import pytest

from paimon_core.errors import CorruptTable
from paimon_core.metadata.statistics import ColumnStatistics, Statistics
from paimon_core.storage.fsspec_storage import FsspecStorage

FULL = Statistics(3, 1, 10, 200, {"a": ColumnStatistics(0, 5, "1", "9", 0, 8, 8), "b": ColumnStatistics(1)})


@pytest.fixture
def storage():
    return FsspecStorage("memory")


def test_written_statistics_are_read(storage):
    storage.write("/st/stat-1", FULL.to_json().encode())
    assert Statistics.read(storage, "/st/stat-1") == FULL
    assert json.loads(FULL.to_json())["colStats"]["b"] == {"colId": 1}


def test_members_that_java_leaves_out(storage):
    storage.write("/st/stat-2", b'{"snapshotId":1,"schemaId":0,"colStats":{},"later":5}')
    assert Statistics.read(storage, "/st/stat-2") == Statistics(1, 0)


@pytest.mark.parametrize(
    "text", [b"", b"[]", b"{}", b'{"snapshotId":"1","schemaId":0}', b'{"snapshotId":1,"schemaId":0,"colStats":{"a":5}}',
             b'{"snapshotId":1,"schemaId":0,"colStats":{"a":{}}}', b"[" * 100_000],
)  # fmt: skip
def test_other_files_are_refused(storage, text):
    storage.write("/st/stat-3", text)
    with pytest.raises(CorruptTable, match="stat-3"):
        Statistics.read(storage, "/st/stat-3")
    with pytest.raises(CorruptTable, match="missing"):
        Statistics.read(storage, "/st/none")

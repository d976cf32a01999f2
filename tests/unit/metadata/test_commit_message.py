import pytest

from paimon_core.errors import InvalidRequest, UnsupportedFeature
from paimon_core.metadata.column_stats import ColumnStats
from paimon_core.metadata.commit_message import Assignment, CommitMessage
from paimon_core.metadata.data_file import DataFile, FileSource
from paimon_core.metadata.manifests.index_manifest import IndexFile, VectorRange

FILE = DataFile(
    "data-u-0.parquet",
    10,
    3,
    1,
    level=2,
    min_key=b"\x00\xff",
    value_stats=ColumnStats(b"\x01", b"\x02", (None, 3)),
    file_source=FileSource.COMPACT,
    value_stats_cols=("a",),
    extra_files=("x.index",),
)

INDEX = IndexFile("DELETION_VECTORS", "index-1", 99, 2, (VectorRange("a", 1, 30, 5), VectorRange("b", 39, 22)))


def test_messages_travel_as_bytes():
    message = CommitMessage(
        b"\x00" * 12,
        1,
        2,
        new_files=(FILE,),
        compact_before=(FILE, FILE.upgraded(5)),
        new_indexes=(INDEX,),
        deleted_indexes=(INDEX, INDEX),
        compact_new_indexes=(IndexFile("HASH", "index-2", 4, 1),),
        assignment=Assignment("name", ("index-1", "index-2")),
    )
    assert CommitMessage.from_bytes(message.to_bytes()) == message


def test_emptiness():
    assert CommitMessage(b"", 0, 1).is_empty
    assert not CommitMessage(b"", 0, 1, deleted_files=(FILE,)).is_empty
    assert not CommitMessage(b"", 0, 1, deleted_indexes=(INDEX,)).is_empty


@pytest.mark.parametrize(
    "data", [b"", b"{}", b"[]", b'{"version": 1}', b'{"version":1,"partition":{"b":"AA=="},"new_files":[{}]}']
)
def test_other_bytes_are_refused(data):
    with pytest.raises(InvalidRequest):
        CommitMessage.from_bytes(data)


def test_a_newer_version_is_refused():
    with pytest.raises(UnsupportedFeature, match="99"):
        CommitMessage.from_bytes(b'{"version": 99}')

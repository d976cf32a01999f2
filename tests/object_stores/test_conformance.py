"""The behaviour that every Storage must have, on all stores."""

import contextlib
import pickle
import threading
import uuid

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from paimon_core.errors import InvalidRequest, StorageError
from paimon_core.storage.object_stores.remote_output import discard
from tests.object_stores.conftest import open_place

REMOTE = ["s3", "gcs", "azure"]
pytestmark = pytest.mark.filterwarnings("ignore:Sending a large body directly:ResourceWarning")


@pytest.fixture(params=["local", "memory", "faulty", *REMOTE])
def place(request):
    return open_place(request.param, request)


@pytest.fixture(params=REMOTE)
def remote(request):
    return open_place(request.param, request)


def test_bytes_come_back(place):
    storage, root = place
    storage.write(f"{root}/a/b/one", b"1")
    storage.overwrite(f"{root}/a/b/two", b"2")
    storage.overwrite(f"{root}/a/b/two", b"22")
    storage.write(f"{root}/a/b/empty", b"")
    assert storage.read(f"{root}/a/b/one") == b"1"
    assert storage.read(f"{root}/a/b/two") == b"22"
    assert storage.read(f"{root}/a/b/empty") == b""
    assert storage.open_input(f"{root}/a/b/empty").read() == b""
    assert storage.exists(f"{root}/a/b/one")
    assert storage.exists(f"{root}/a")
    assert not storage.exists(f"{root}/a/b/on")
    assert not storage.exists(f"{root}/a/b/three")


def test_listing_and_walking(place):
    storage, root = place
    storage.write(f"{root}/x/deep/er/file", b"")
    storage.write(f"{root}/x/abc", b"abc")
    storage.write(f"{root}/xyz", b"")
    found = storage.list(f"{root}/x")
    assert [(f.path, f.is_directory, f.size) for f in found] == [
        (f"{root}/x/abc", False, 3),
        (f"{root}/x/deep", True, 0),
    ]
    assert found[0].modified_millis > 1_700_000_000_000
    assert found[1].modified_millis == 0 or found[1].modified_millis > 1_700_000_000_000  # 0: the store has none
    assert [f.name for f in storage.list(root)] == ["x", "xyz"]
    assert sorted(f.path for f in storage.walk(f"{root}/x")) == [f"{root}/x/abc", f"{root}/x/deep/er/file"]
    assert not any(f.is_directory for f in storage.walk(root))
    for nothing in (f"{root}/nowhere", f"{root}/x/abc"):
        assert storage.list(nothing) == []


@pytest.mark.parametrize(
    "name", ["a b", "ü", "t*", "[x]", "{a}", "a+b&c=d", "100%41", "a#b", "a?b", "a?versionId=b", "~"]
)
def test_names_are_not_interpreted(place, name):
    storage, root = place
    path = f"{root}/{name}/x{name}"
    storage.write(path, b"1")
    assert storage.create_exclusive(f"{path}-2", b"2")
    with storage.open_output(f"{path}-3") as out:
        out.write(b"3")
    assert storage.read(path) == b"1"
    assert storage.open_input(path).read() == b"1"
    assert sorted(f.path for f in storage.walk(root)) == [path, f"{path}-2", f"{path}-3"]
    assert [f.path for f in storage.list(root)] == [f"{root}/{name}"]
    storage.move(path, f"{path}-4")
    assert storage.delete([f"{path}-4"]) == 1
    storage.delete_directory(f"{root}/{name}")
    assert storage.list(root) == []


def test_missing_files(place):
    storage, root = place
    with pytest.raises(FileNotFoundError):
        storage.read(f"{root}/none")
    with pytest.raises(FileNotFoundError):
        storage.open_input(f"{root}/none")
    with pytest.raises(FileNotFoundError):
        storage.move(f"{root}/none", f"{root}/other")
    assert storage.delete([f"{root}/none"]) == 0
    storage.delete_directory(f"{root}/none")


def test_parquet_files_are_written_and_read_as_streams(place):
    storage, root = place
    table = pa.table({"a": range(50_000), "b": [uuid.uuid4().hex for _ in range(50_000)]})
    path = f"{root}/p=1/bucket-0/f.parquet"
    with storage.open_output(path) as out:
        pq.write_table(table, out, row_group_size=10_000)
    with storage.open_input(path) as source:
        file = pq.ParquetFile(source)
        assert file.read_row_group(3, columns=["a"]) == table.slice(30_000, 10_000).select(["a"])
        assert file.read() == table
    assert storage.list(f"{root}/p=1/bucket-0")[0].size == len(storage.read(path))


@pytest.mark.parametrize("place", ["local", "memory", *REMOTE], indirect=True)
def test_only_the_version_that_was_listed_is_read(place):
    storage, root = place
    storage.write(f"{root}/a.bin", b"x" * 2_000_000)
    (listed,) = storage.list(root)
    with storage.open_version(listed.path, listed.version) as stream:
        assert stream.read(3) == b"xxx"
    with contextlib.suppress(StorageError), storage.open_version(listed.path, listed.version) as stream:
        storage.overwrite(listed.path, b"y" * 2_000_000)
        stream.seek(1_000_000)
        assert stream.read(3) == b"xxx"  # a local file that is open keeps its bytes, other stores raise the error
    with pytest.raises(StorageError, match="was replaced or changed after it was listed"):
        storage.open_version(listed.path, listed.version).__enter__()
    with pytest.raises(FileNotFoundError):
        storage.open_version(f"{root}/none", listed.version).__enter__()


def test_an_exclusive_creation_leaves_the_first_bytes(place):
    storage, root = place
    assert storage.create_exclusive(f"{root}/s/snapshot-1", b"first")
    assert not storage.create_exclusive(f"{root}/s/snapshot-1", b"second")
    assert storage.read(f"{root}/s/snapshot-1") == b"first"
    assert [f.name for f in storage.list(f"{root}/s")] == ["snapshot-1"]


def test_exactly_one_of_several_concurrent_creations_succeeds(place):
    storage, root = place
    for number in range(20):
        start = threading.Barrier(4)
        wins = []

        def publish(name, path=f"{root}/s/snapshot-{number}", start=start, wins=wins):
            start.wait()
            if storage.create_exclusive(path, name * 1000):
                wins.append(name)

        threads = [threading.Thread(target=publish, args=(bytes([65 + n]),)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(wins) == 1
        assert storage.read(f"{root}/s/snapshot-{number}") == wins[0] * 1000


def test_moving(place):
    storage, root = place
    storage.write(f"{root}/a/one", b"1")
    storage.move(f"{root}/a/one", f"{root}/b/c/two")
    assert not storage.exists(f"{root}/a/one")
    assert storage.read(f"{root}/b/c/two") == b"1"


def test_deleting(place):
    storage, root = place
    for name in ("t/a", "t/b/c", "t/b/d", "tx/e", "t-1"):
        storage.write(f"{root}/{name}", b"1")
    assert storage.delete([f"{root}/t/a"]) == 1
    assert storage.delete([f"{root}/t/b/c", f"{root}/t/gone"]) in (1, 2)
    assert storage.delete([]) == 0
    storage.delete_directory(f"{root}/t")
    assert not storage.exists(f"{root}/t")
    assert [f.name for f in storage.list(root)] == ["t-1", "tx"]


def test_directories(place):
    storage, root = place
    storage.make_directory(f"{root}/a/b")
    storage.make_directory(f"{root}/a/b")
    assert storage.exists(f"{root}/a/b")
    assert [(f.name, f.is_directory) for f in storage.list(f"{root}/a")] == [("b", True)]
    assert storage.list(f"{root}/a/b") == []
    assert list(storage.walk(root)) == []
    storage.write(f"{root}/a/b/f", b"1")
    assert [(f.name, f.is_directory) for f in storage.list(f"{root}/a")] == [("b", True)]
    assert [f.path for f in storage.walk(root)] == [f"{root}/a/b/f"]
    storage.delete_directory(f"{root}/a")
    assert not storage.exists(f"{root}/a")


def test_storages_can_be_pickled(place):
    storage, root = place
    if hasattr(storage, "inner"):
        pytest.skip("a fault injector stays in its process")
    storage.write(f"{root}/f", b"1")
    copy = pickle.loads(pickle.dumps(storage))  # noqa: S301
    assert copy == storage
    assert copy.read(f"{root}/f") == b"1"


def test_large_files_are_written_and_read_in_parts(remote):
    storage, root = remote
    data = uuid.uuid4().bytes * (40 * 1024 * 1024 // 16)
    with storage.open_output(f"{root}/big") as out:
        for start in range(0, len(data), 3_000_000):
            out.write(data[start : start + 3_000_000])
        assert out.tell() == len(data)
        assert list(storage.walk(root)) == []
    assert storage.list(root)[0].size == len(data)
    with storage.open_input(f"{root}/big") as source:
        assert source.size() == len(data)
        source.seek(20_000_001)
        assert source.read(5) == data[20_000_001:20_000_006]
        source.seek(20_000_007)
        assert source.read(5) == data[20_000_007:20_000_012]
        source.seek(len(data) - 300_000)
        assert source.read(400_000) == data[-300_000:]
        source.seek(0)
        assert source.read() == data


@pytest.mark.parametrize("size", [10, 40 * 1024 * 1024])
def test_a_stream_that_fails_creates_no_file(remote, size):
    storage, root = remote

    def fails(end):
        out = storage.open_output(f"{root}/f")
        out.write(bytes(size))
        end(out)

    def leaves_by_exception(out):
        with pytest.raises(ZeroDivisionError), out:
            raise ZeroDivisionError

    for end in (leaves_by_exception, discard, lambda out: None):
        fails(end)
        assert not storage.exists(f"{root}/f")
    with storage.open_output(f"{root}/f") as out:
        out.write(b"x")
    discard(out)
    assert storage.read(f"{root}/f") == b"x"


def test_nothing_outside_the_warehouse_is_touched(remote):
    storage, root = remote
    for path in (f"{root}x/f", root.rsplit("/", 1)[0] + "/f", f"{root}/../f", f"{root}/a/./f", "/etc/passwd", "f"):
        for call in (
            lambda p: storage.write(p, b"1"),
            storage.read,
            storage.exists,
            storage.list,
            storage.delete_directory,
            lambda p: list(storage.walk(p)),
            lambda p: storage.delete([p]),
            lambda p: storage.create_exclusive(p, b"1"),
            lambda p: storage.move(f"{root}/f", p),
            storage.open_output,
        ):
            with pytest.raises(InvalidRequest):
                call(path)
    with pytest.raises(InvalidRequest, match="warehouse"):
        storage.delete_directory(root)


def test_an_empty_publish_is_refused(remote):
    storage, root = remote
    with pytest.raises(InvalidRequest, match="an empty file cannot be created exclusively"):
        storage.create_exclusive(f"{root}/snapshot-1", b"")


def test_a_missing_bucket(remote):
    storage, root = remote
    bucket = root.split("/")[2]
    storage = type(storage)(storage.kind, root.replace(bucket, "nowhere"), storage.options)
    path = f"{storage.base}/f"
    for call in (
        lambda: storage.write(path, b"1"),
        lambda: storage.create_exclusive(path, b"1"),
        lambda: storage.list(storage.base),
    ):
        with pytest.raises((StorageError, FileNotFoundError)):
            call()

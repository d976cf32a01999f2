import os
import pickle
import threading
import time
import uuid

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from paimon_core.errors import StorageError, UnsupportedFeature
from paimon_core.storage.fsspec_storage import FsspecStorage

LOCAL, MEMORY = FsspecStorage("file"), FsspecStorage("memory")


@pytest.fixture(params=["file", "memory"])
def place(request, tmp_path):
    """Return a storage and an empty directory in it."""
    if request.param == "file":
        yield LOCAL, str(tmp_path / "w")
    else:
        root = f"/{uuid.uuid4()}"
        yield MEMORY, root
        MEMORY.delete_directory(root)


def test_bytes_come_back(place):
    storage, root = place
    storage.write(f"{root}/a/b/one", b"1")
    storage.overwrite(f"{root}/a/b/two", b"2")
    storage.overwrite(f"{root}/a/b/two", b"22")
    assert storage.read(f"{root}/a/b/one") == b"1"
    assert storage.read(f"{root}/a/b/two") == b"22"
    assert storage.exists(f"{root}/a/b/one")
    assert storage.exists(f"{root}/a")
    assert not storage.exists(f"{root}/a/b/three")
    assert [f.name for f in storage.list(f"{root}/a/b")] == ["one", "two"]


def test_listing(place):
    storage, root = place
    storage.write(f"{root}/x/deep/file", b"")
    storage.write(f"{root}/x/abc", b"abc")
    found = storage.list(f"{root}/x")
    assert [(f.path, f.is_directory, f.size) for f in found] == [
        (f"{root}/x/abc", False, 3),
        (f"{root}/x/deep", True, 0),
    ]
    assert found[0].modified_millis > 1_700_000_000_000
    assert (found[1].modified_millis > 0) is storage.is_local
    assert storage.list(f"{root}/nowhere") == []
    assert storage.list(f"{root}/x/abc") == []


def test_a_missing_file(place):
    storage, root = place
    with pytest.raises(FileNotFoundError):
        storage.read(f"{root}/none")
    with pytest.raises(FileNotFoundError):
        storage.open_input(f"{root}/none")
    assert storage.delete([f"{root}/none"]) == 0
    storage.delete_directory(f"{root}/none")


def test_parquet_files_are_written_and_read_as_streams(place):
    storage, root = place
    table = pa.table({"a": [1, 2, 3]})
    with storage.open_output(f"{root}/p=1/bucket-0/f.parquet") as out:
        pq.write_table(table, out)
    with storage.open_input(f"{root}/p=1/bucket-0/f.parquet") as source:
        assert pq.ParquetFile(source).read() == table
    assert storage.list(f"{root}/p=1/bucket-0")[0].size == len(storage.read(f"{root}/p=1/bucket-0/f.parquet"))


def test_create_exclusive_leaves_the_first_bytes(place):
    storage, root = place
    assert storage.create_exclusive(f"{root}/s/snapshot-1", b"first")
    assert not storage.create_exclusive(f"{root}/s/snapshot-1", b"second")
    assert storage.read(f"{root}/s/snapshot-1") == b"first"
    assert [f.name for f in storage.list(f"{root}/s")] == ["snapshot-1"]


def test_exactly_one_of_two_concurrent_creations_succeeds(place, monkeypatch):
    """Also when both have checked and found no file: the checks are patched to report none, or to be slow."""
    storage, root = place
    look = FsspecStorage.exists
    monkeypatch.setattr(FsspecStorage, "exists", lambda self, path: (look(self, path), time.sleep(0.001))[0])
    monkeypatch.setattr(os.path, "lexists", lambda path: False)
    for number in range(10):
        start = threading.Barrier(2)
        wins = []

        def publish(name, path, start=start, wins=wins):
            start.wait()
            if storage.create_exclusive(path, name * 1000):
                wins.append(name)

        path = f"{root}/s/snapshot-{number}"
        threads = [threading.Thread(target=publish, args=(name, path)) for name in (b"a", b"b")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(wins) == 1
        assert storage.read(path) == wins[0] * 1000
    assert len(storage.list(f"{root}/s")) == 10


def test_deletion(place):
    storage, root = place
    for name in ("t*/a", "t*/b/c", "tx/d"):
        storage.write(f"{root}/{name}", b"1")
    storage.make_directory(f"{root}/t*/empty/deep")
    assert storage.delete([f"{root}/t*/a", f"{root}/t*/gone"]) == 1
    storage.delete_directory(f"{root}/t*")
    assert not storage.exists(f"{root}/t*")
    assert [f.name for f in storage.list(root)] == ["tx"]


def test_directories(place):
    storage, root = place
    storage.make_directory(f"{root}/a/b")
    storage.make_directory(f"{root}/a/b")
    assert [(f.name, f.is_directory) for f in storage.list(f"{root}/a")] == [("b", True)]
    assert storage.list(f"{root}/a/b") == []


def test_a_file_where_a_directory_should_be(place):
    storage, root = place
    storage.write(f"{root}/f", b"1")
    for call in (storage.write, storage.overwrite, storage.create_exclusive):
        with pytest.raises(StorageError, match=f"{root}/f/x"):
            call(f"{root}/f/x", b"2")


def test_storages_can_be_pickled(place):
    storage, root = place
    storage.write(f"{root}/f", b"1")
    copy = pickle.loads(pickle.dumps(storage))  # noqa: S301
    assert copy == storage
    assert copy.read(f"{root}/f") == b"1"


def test_a_stream_in_memory_is_visible_when_it_is_closed():
    path = f"/{uuid.uuid4()}/f"
    out = MEMORY.open_output(path)
    out.write(b"half")
    assert not MEMORY.exists(path)
    out.close()
    out.close()
    assert MEMORY.read(path) == b"half"
    MEMORY.delete([path])


def test_symbolic_links_to_directories_are_directories(tmp_path):
    (tmp_path / "real").mkdir()
    os.symlink(tmp_path / "real", tmp_path / "link")
    os.symlink(tmp_path / "nowhere", tmp_path / "broken")
    found = {f.name: f.is_directory for f in LOCAL.list(str(tmp_path))}
    assert found == {"real": True, "link": True, "broken": False}


def test_only_two_protocols():
    with pytest.raises(UnsupportedFeature, match="s3"):
        FsspecStorage("s3")

import os
import threading

import pytest

from paimon_core.errors import InvalidOption
from paimon_core.storage import local_cache
from paimon_core.storage.local_cache import LocalCache

HEADER = 4
"""Bytes of the checksum before the content."""


@pytest.fixture
def directory(tmp_path):
    return tmp_path / "cache"


def files(directory):
    return sorted(p for p in directory.iterdir())


def test_files_are_found_by_later_processes(directory):
    cache = LocalCache(str(directory), 1000, "store")
    assert cache.read("t/a") is None
    cache.keep("t/a", b"abc")
    cache.keep("t/b", b"")
    again = LocalCache(str(directory), 1000, "store")
    assert (again.read("t/a"), again.read("t/b"), again.read("t/c")) == (b"abc", b"", None)
    assert LocalCache(str(directory), 1000, "another store").read("t/a") is None
    assert directory.stat().st_mode & 0o777 == 0o700
    again.forget("t/a")
    again.forget("t/c")
    assert (cache.read("t/a"), cache.read("t/b")) == (None, b"")


@pytest.mark.parametrize("damaged", [b"", b"abc", b"\0" * 7, b"\x01"])
def test_damaged_files_are_dropped(directory, damaged):
    cache = LocalCache(str(directory), 1000, "store")
    cache.keep("t/a", b"abc")
    (file,) = files(directory)
    file.write_bytes(damaged)
    assert cache.read("t/a") is None
    assert files(directory) == []


def test_the_files_used_longest_ago_are_deleted(directory):
    cache = LocalCache(str(directory), 10 * (100 + HEADER), "store")
    for n in range(10):
        cache.keep(f"t/{n}", bytes(100))
    assert len(files(directory)) == 10
    for at, file in enumerate(sorted(files(directory), key=lambda f: f.stat().st_mtime_ns)):
        os.utime(file, (at, at))
    assert cache.read("t/0") == bytes(100)
    cache.keep("t/10", bytes(100))
    kept = [n for n in range(11) if cache.read(f"t/{n}") is not None]
    assert kept == [0, 3, 4, 5, 6, 7, 8, 9, 10]
    cache.keep("t/large", bytes(2000))
    assert cache.read("t/large") is None


def test_files_of_other_processes_count(directory, monkeypatch):
    monkeypatch.setattr(local_cache, "FILES_PER_LISTING", 4)
    ours, theirs = (LocalCache(str(directory), 1000, "store") for _ in range(2))
    ours.keep("t/0", bytes(96))
    for n in range(9):
        theirs.keep(f"t/their{n}", bytes(96))
    for n in range(1, 4):
        ours.keep(f"t/{n}", bytes(96))
    assert sum(f.stat().st_size for f in files(directory)) <= 1000


def test_other_files_are_left_alone_and_those_left_behind_deleted(directory):
    cache = LocalCache(str(directory), 300, "store")
    for n in range(2):
        cache.keep(f"t/{n}", bytes(100))
    stale = directory / f".{files(directory)[0].name}.{'0' * 32}.tmp"
    fresh = directory / f".{files(directory)[0].name}.{'1' * 32}.tmp"
    for file in (stale, fresh, directory / "notes.txt"):
        file.write_bytes(bytes(500))
    for file in (stale, directory / "notes.txt"):
        os.utime(file, (1, 1))
    cache.keep("t/3", bytes(100))
    assert not stale.exists()
    assert fresh.exists()
    assert (directory / "notes.txt").exists()


def test_a_full_disk_fails_no_read(directory, monkeypatch, caplog):
    cache = LocalCache(str(directory), 1000, "store")
    monkeypatch.setattr(local_cache.Path, "replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left")))
    for n in range(3):
        cache.keep(f"t/{n}", b"abc")
    assert cache.read("t/0") is None
    assert files(directory) == []
    assert [record.getMessage() for record in caplog.records] == [
        f"the local cache {directory} cannot be written: [Errno 28] No space left"
    ]


def test_directories_that_cannot_be_used(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(InvalidOption, match=r"file/cache cannot be created: Not a directory"):
        LocalCache(str(tmp_path / "file" / "cache"), 1000, "store")
    with pytest.raises(InvalidOption, match=r"file cannot be created"):
        LocalCache(str(tmp_path / "file"), 1000, "store")
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    with pytest.raises(InvalidOption, match="no other user may write"):
        LocalCache(str(shared), 1000, "store")


def test_many_threads(directory):
    cache = LocalCache(str(directory), 2000, "store")

    def work(start):
        for n in range(50):
            cache.keep(f"t/{(start + n) % 60}", bytes([(start + n) % 60]) * 96)
            assert cache.read(f"t/{n}") in (None, bytes([n]) * 96)

    failures = []
    threads = [threading.Thread(target=lambda at=at: _guarded(work, at, failures)) for at in range(0, 40, 10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert sum(f.stat().st_size for f in files(directory)) <= 2000


def _guarded(work, at, failures):
    try:
        work(at)
    except BaseException as error:
        failures.append(error)

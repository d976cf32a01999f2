import itertools
import random
import threading

import pyarrow as pa
import pytest

from paimon_core.errors import StorageError
from paimon_core.storage.object_stores import remote_file
from paimon_core.storage.object_stores.remote_file import RemoteReader

DATA = random.Random(1).randbytes(3_000)


def reader(monkeypatch, tail=100, ahead=200):
    monkeypatch.setattr(remote_file, "AHEAD_BYTES", ahead)
    asked = []

    def fetch(start, end):
        asked.append((start, end))
        return DATA[start:end]

    return RemoteReader(fetch, DATA[len(DATA) - tail :], len(DATA)), asked


def test_the_tail_needs_no_request(monkeypatch):
    file, asked = reader(monkeypatch)
    file.seek(-100, 2)
    assert file.read(200) == DATA[-100:]
    assert file.read(1) == b""
    assert asked == []


def test_small_reads_request_more_and_large_reads_only_their_range(monkeypatch):
    file, asked = reader(monkeypatch)
    assert file.read(10) + file.read(20) == DATA[:30]
    assert asked == [(0, 200)]
    file.seek(1000)
    assert file.read(500) == DATA[1000:1500]
    assert asked[1:] == [(1000, 1500)]
    file.seek(2850)
    assert file.read(100) == DATA[2850:2950]
    assert asked[2:] == [(2850, 2900)]


def test_any_reads_return_the_right_bytes(monkeypatch):
    chance = random.Random(2)
    for _ in range(50):
        file, _ = reader(monkeypatch, chance.choice([1, 100, 2_999]), chance.choice([1, 50, 5_000]))
        stream = pa.PythonFile(file, mode="r")
        assert stream.size() == len(DATA)
        for _ in range(20):
            start, count = chance.randrange(3_100), chance.randrange(1_000)
            stream.seek(start)
            assert stream.read(count) == DATA[start : start + count]


def columns_in_turns(file, columns, chunk, step):
    """Read the start of each column chunk, as page checks do, then all chunks in turns; return the bytes."""
    for column in range(columns):
        file.seek(column * chunk)
        file.read(5)
    found = [b""] * columns
    for at in range(0, chunk, step):
        for column in range(columns):
            file.seek(column * chunk + at)
            found[column] += file.read(min(step, chunk - at))
    return b"".join(found)


def test_columns_that_are_read_in_turns_request_each_byte_once(monkeypatch):
    file, asked = reader(monkeypatch)
    assert columns_in_turns(file, 4, 700, 64) == DATA[:2800]
    assert sum(end - start for start, end in asked) <= len(DATA)
    assert len(asked) <= 2 * len(DATA) / 200


def test_what_is_kept_is_bounded_in_a_file_and_in_a_process(monkeypatch):
    monkeypatch.setattr(remote_file, "LEAST_AHEAD_BYTES", 50)
    monkeypatch.setattr(remote_file, "KEPT_BYTES", 400)
    monkeypatch.setattr(remote_file, "ALL_KEPT_BYTES", 1_000)
    before = remote_file.ALL_KEPT.bytes
    monkeypatch.setattr(remote_file, "ALL_KEPT_BYTES", before + 1_000)
    opened = [reader(monkeypatch) for _ in range(8)]
    for file, asked in opened:
        for start in range(0, 2_800, 100):  # more columns than ranges that may be kept
            file.seek(start)
            file.read(7)
        assert file._kept <= 400
        assert sum(end - start for start, end in asked) <= 400 + 7 * 28
    assert remote_file.ALL_KEPT.bytes - before <= 1_000 + 8 * 200
    for file, _ in opened:
        assert columns_in_turns(file, 7, 400, 64) == DATA[:2800]
        file.close()
    assert remote_file.ALL_KEPT.bytes == before


def test_ranges_that_nobody_reads_make_room(monkeypatch):
    monkeypatch.setattr(remote_file, "KEPT_BYTES", 400)
    monkeypatch.setattr(remote_file, "LEAST_AHEAD_BYTES", 200)
    monkeypatch.setattr(remote_file, "STALE_READS", 10)
    file, asked = reader(monkeypatch)
    for start in (0, 300):
        file.seek(start)
        file.read(5)
    file.seek(600)
    assert b"".join(file.read(5) for _ in range(60)) == DATA[600:900]
    assert len(asked) < 2 + 60 / 2


def test_errors_of_the_store_pass_through_arrow(monkeypatch):
    def fetch(start, end):
        raise StorageError("gone for now", path="f")

    stream = pa.PythonFile(RemoteReader(fetch, b"", 10), mode="r")
    with pytest.raises(StorageError, match="gone for now"):
        stream.read(5)


def test_announced_ranges_are_requested_at_once_and_only_once(monkeypatch):
    file, asked = reader(monkeypatch)
    file.will_read([(500, 900), (900, 1000), (100, 150), (2850, 3000)])
    assert sorted(asked) == [(100, 150), (500, 700), (700, 900), (900, 1000), (2850, 2900)]
    for start, end in [(900, 1000), (100, 150), (500, 900), (2850, 3000)]:
        file.seek(start)
        assert file.read(end - start) == DATA[start:end]
    assert len(asked) == 5
    assert not file._ranges


def test_announced_ranges_are_cut_to_what_may_be_kept_or_not_requested(monkeypatch):
    file, asked = reader(monkeypatch)
    monkeypatch.setattr(remote_file, "KEPT_BYTES", 400)
    monkeypatch.setattr(remote_file, "LEAST_AHEAD_BYTES", 100)
    file.will_read([(0, 1000), (1500, 1510)])
    assert sorted(asked) == [(0, 200), (1500, 1510)]
    asked.clear()
    file.close()
    file, asked = reader(monkeypatch)
    file.will_read([(n * 300, n * 300 + 290) for n in range(5)])
    assert asked == []  # less than LEAST_AHEAD_BYTES of each range


def test_files_that_announce_at_the_same_time_share_what_may_be_kept(monkeypatch):
    before, asked, others, first = remote_file.ALL_KEPT.bytes, [], [], threading.Lock()

    def fetch(start, end):
        asked.append(end - start)
        if first.acquire(
            blocking=False
        ):  # while this request is under way, another thread opens a file and announces all of it
            others.append(RemoteReader(fetch, b"", len(DATA)))
            others[0].will_read([(0, 400), (500, 900)])
        return DATA[start:end]

    for name, value in {"AHEAD_BYTES": 200, "LEAST_AHEAD_BYTES": 10, "ALL_KEPT_BYTES": before + 1_600}.items():
        monkeypatch.setattr(remote_file, name, value)
    file = RemoteReader(fetch, b"", len(DATA))
    file.will_read([(0, 400), (500, 900)])
    assert sum(asked) == 800 + 400
    assert remote_file.ALL_KEPT.bytes == before + 1_200
    for one in (file, *others):
        assert columns_in_turns(one, 1, 900, 64) == DATA[:900]
        one.close()
    assert remote_file.ALL_KEPT.bytes == before


def test_a_failed_request_of_announced_ranges_is_raised(monkeypatch):
    def fetch(start, end):
        raise StorageError(f"no bytes from {start}")

    monkeypatch.setattr(remote_file, "AHEAD_BYTES", 200)
    file, before = RemoteReader(fetch, DATA[-10:], len(DATA)), remote_file.ALL_KEPT.bytes
    with pytest.raises(StorageError, match="no bytes from"):
        file.will_read([(0, 500)])
    assert remote_file.ALL_KEPT.bytes == before


def test_any_announcements_and_reads_return_the_right_bytes(monkeypatch):
    chance = random.Random(3)
    for _ in range(100):
        file, _ = reader(monkeypatch, chance.choice([1, 100]), chance.choice([1, 50, 200]))
        monkeypatch.setattr(remote_file, "KEPT_BYTES", chance.choice([100, 1000, 1 << 20]))
        monkeypatch.setattr(remote_file, "LEAST_AHEAD_BYTES", chance.choice([1, 100]))
        for _ in range(10):
            cuts = sorted(chance.sample(range(3_000), 6))
            file.will_read(list(zip(cuts[::2], cuts[1::2], strict=True)))
            for _ in range(5):
                start, count = chance.randrange(3_100), chance.randrange(1_000)
                file.seek(start)
                assert file.read(count) == DATA[start : start + count]
            assert file._kept == sum(len(one.data) for one in file._ranges)
            ends = [(one.start, one.end) for one in file._ranges]
            assert all(end <= start for (_, end), (start, _) in itertools.pairwise(ends))
        file.close()

import random

import pyarrow as pa
import pytest

from paimon_core.errors import StorageError
from paimon_core.storage.object_stores import remote_file
from paimon_core.storage.object_stores.remote_file import RemoteOutput, RemoteReader, RemoteWriter, discard

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


def test_errors_of_the_store_pass_through_arrow(monkeypatch):
    def fetch(start, end):
        raise StorageError("gone for now", path="f")

    stream = pa.PythonFile(RemoteReader(fetch, b"", 10), mode="r")
    with pytest.raises(StorageError, match="gone for now"):
        stream.read(5)


class Sink:
    def __init__(self, failing=()):
        self.calls, self.failing = [], failing

    def _record(self, name, data=b""):
        self.calls.append((name, len(data)))
        if name in self.failing:
            raise StorageError(name)

    def put(self, data):
        self._record("put", data)

    def part(self, data):
        self._record("part", data)

    def complete(self):
        self._record("complete")

    def abort(self):
        self._record("abort")


def output(sink, part_bytes=10):
    return RemoteOutput(RemoteWriter(sink, part_bytes))


def test_a_small_file_is_one_put():
    sink = Sink()
    with output(sink) as out:
        out.write(b"12345")
        assert out.tell() == 5
        assert sink.calls == []
    out.close()
    assert sink.calls == [("put", 5)]


def test_a_large_file_is_sent_in_parts_of_equal_size():
    sink = Sink()
    with output(sink) as out:
        for size in (7, 25, 0, 8):
            out.write(bytes(size))
    assert sink.calls == [("part", 10), ("part", 10), ("part", 10), ("part", 10), ("complete", 0)]


@pytest.mark.parametrize("size", [5, 25])
def test_a_stream_that_is_not_closed_creates_no_file(size):
    for end in (discard, lambda out: None):
        sink = Sink()
        out = output(sink)
        out.write(bytes(size))
        end(out)
        del out
        assert not {"put", "complete"} & {name for name, _ in sink.calls}
    sink = Sink()
    out = output(sink)
    out.write(bytes(size))
    with pytest.raises(ZeroDivisionError), out:
        raise ZeroDivisionError
    assert sink.calls[-1] == ("abort", 0)


def test_a_part_that_fails_aborts_the_file():
    sink = Sink(failing=["part", "abort"])
    out = output(sink)
    with pytest.raises(StorageError, match="part"):
        out.write(bytes(30))
    out.close()
    assert [name for name, _ in sink.calls] == ["part", "abort"]


def test_a_failing_close_raises_once():
    for failing in ("put", "complete"):
        out = output(Sink(failing=[failing]))
        out.write(bytes(5 if failing == "put" else 30))
        with pytest.raises(StorageError, match=failing):
            out.close()
        discard(out)

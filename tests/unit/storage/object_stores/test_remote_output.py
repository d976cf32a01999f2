import pytest

from paimon_core.errors import StorageError
from paimon_core.storage.object_stores.remote_output import RemoteOutput, RemoteWriter, discard


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

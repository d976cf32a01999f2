import pytest

from paimon_core.errors import CorruptTable
from paimon_core.metadata import remembered as module
from paimon_core.metadata.remembered import remembered


@pytest.fixture
def parsed(monkeypatch):
    """A parser with room for 100 bytes, and the list of its calls."""
    monkeypatch.setattr(module, "MOST_BYTES", 100)
    monkeypatch.setattr(module, "LARGEST", 60)
    calls = []

    @remembered
    def parse(data, path):
        calls.append((data, path))
        if data == b"bad":
            raise CorruptTable(f"{path} is bad")
        return data.decode(), path

    return parse, calls


def test_equal_bytes_of_one_file_are_parsed_once(parsed):
    parse, calls = parsed
    assert parse(b"one", "a") is parse(bytes(bytearray(b"one")), "a")
    assert parse(b"two", "a") == ("two", "a")
    assert parse(b"one", "b") == ("one", "b")
    assert calls == [(b"one", "a"), (b"two", "a"), (b"one", "b")]


def test_errors_are_raised_each_time(parsed):
    parse, calls = parsed
    for _ in range(2):
        with pytest.raises(CorruptTable, match="a is bad"):
            parse(b"bad", "a")
    assert len(calls) == 2


def test_the_oldest_files_are_forgotten_and_large_ones_are_not_kept(parsed):
    parse, calls = parsed
    for data in (b"x" * 50, b"y" * 40, b"x" * 50, b"z" * 20):  # the last one removes y, which was used before x
        parse(data, "a")
    assert len(calls) == 3
    parse(b"x" * 50, "a")
    assert len(calls) == 3
    parse(b"y" * 40, "a")
    assert len(calls) == 4
    parse(b"w" * 61, "a")
    parse(b"w" * 61, "a")
    assert len(calls) == 6

"""read_again: a read is retried after a file was deleted, and not after other errors."""

import pytest

from paimon_core.errors import CorruptTable, SnapshotNotFound
from paimon_core.metadata.read_again import TRIES, read_again


def failing_read(*errors):
    """A function that raises these errors one after the other, then returns 7; and a list of its calls."""
    calls = []

    def read():
        calls.append(1)
        if len(calls) <= len(errors):
            raise errors[len(calls) - 1]
        return 7

    return read, calls


def test_a_read_is_retried_when_a_snapshot_or_a_file_was_deleted():
    missing = SnapshotNotFound("missing")
    read, calls = failing_read(missing, CorruptTable("no file", missing=True), missing)
    assert read_again(read) == 7
    assert len(calls) == TRIES


def test_the_error_of_the_last_attempt_is_raised():
    read, calls = failing_read(*[SnapshotNotFound(f"missing {i}") for i in range(TRIES + 1)])
    with pytest.raises(SnapshotNotFound, match=f"missing {TRIES - 1}"):
        read_again(read)
    assert len(calls) == TRIES


def test_other_errors_are_raised_at_once():
    read, calls = failing_read(CorruptTable("torn"))
    with pytest.raises(CorruptTable, match="torn"):
        read_again(read)
    assert len(calls) == 1

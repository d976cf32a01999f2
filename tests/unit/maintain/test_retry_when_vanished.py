"""look_again: what vanished is looked for anew, what is broken is not."""

import pytest

from paimon_core.errors import CorruptTable, SnapshotNotFound
from paimon_core.maintain.retry_when_vanished import TRIES, retry_when_vanished


def looks(*errors):
    """A look that raises these one after the other, then gives 7; and how often it was asked."""
    asked = []

    def look():
        asked.append(1)
        if len(asked) <= len(errors):
            raise errors[len(asked) - 1]
        return 7

    return look, asked


def test_what_vanishes_is_looked_for_again():
    look, asked = looks(SnapshotNotFound("gone"), CorruptTable("no file", missing=True), SnapshotNotFound("gone"))
    assert retry_when_vanished(look) == 7
    assert len(asked) == TRIES


def test_what_keeps_vanishing_is_told():
    look, asked = looks(*[SnapshotNotFound(f"gone {i}") for i in range(TRIES + 1)])
    with pytest.raises(SnapshotNotFound, match=f"gone {TRIES - 1}"):
        retry_when_vanished(look)
    assert len(asked) == TRIES


def test_what_does_not_read_is_told_at_once():
    look, asked = looks(CorruptTable("torn"))
    with pytest.raises(CorruptTable, match="torn"):
        retry_when_vanished(look)
    assert len(asked) == 1

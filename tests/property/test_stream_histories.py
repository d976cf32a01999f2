"""Streams are complete: content and changes, applied in order, are the table; random histories from a seed."""

from __future__ import annotations

from collections import Counter

import pytest

from paimon_core.errors import ReadOutdated, SnapshotNotFound
from paimon_core.table.changes.segments import inexact
from tests.support.change_histories import ChangeHistory, told
from tests.support.long_cases import long_cases


class Follower:
    """One stream and the rows that its batches give."""

    def __init__(self, history: ChangeHistory) -> None:
        self.history = history
        self.restart()

    def restart(self) -> None:
        self.stream = self.history.table.stream()
        self.rows: Counter = Counter()

    def follow(self, batches: int) -> None:
        """Take so many batches; a rollback or an expiry of what was not read starts the stream again."""
        for _ in range(batches):
            try:
                batch = self.stream.poll()
                if batch is None:
                    return
                self.rows = self.history.applied(self.rows, told(batch))
            except (ReadOutdated, SnapshotNotFound):
                self.restart()


def gives_the_rows(history: ChangeHistory) -> bool:
    """Whether the last row told of a key is its row: rows as written must not be merged by a rule."""
    schema, options = history.table.schema, history.table.context.options
    if not history.keyed or options["changelog-producer"] in ("lookup", "full-compaction"):
        return not history.keyed or not inexact(schema, options)
    return options["merge-engine"] == "deduplicate" and not options["sequence.field"]


def play(seed: int) -> str:
    """Return the kind of table, "" when its stream does not promise the rows of a read."""
    history = ChangeHistory(seed)
    if not gives_the_rows(history):
        return ""
    table, chance = history.table, history.chance
    history.step()
    follower = Follower(history)
    for _ in range(chance.randint(4, 9)):
        history.step()
        follower.follow(chance.choice([0, 0, 1, 9]))
    if history.keyed:
        table.compact(full=True)  # tells what the changelog has not told yet
    for _ in range(2):  # a stream that could not go on starts again
        follower.follow(99)
    assert follower.rows == history.state(table.latest_snapshot()), history.kind
    return history.kind


@pytest.mark.parametrize("seed", [*range(13), *long_cases(range(13, 65))])
def test_content_and_changes_are_the_table(seed):
    play(seed)

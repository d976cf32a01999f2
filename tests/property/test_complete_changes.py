"""Changes between two versions are complete: random histories of tables of every kind, from a seed."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.support.change_histories import ChangeHistory, told
from tests.support.long_cases import long_cases


def bounds(history):
    """Return the versions that can be read, as an argument of changes and with their rows."""
    table = history.table
    found = [(0, None)] if 1 in table.context.snapshots.ids() else []
    found += [(i, table.context.snapshots.read(i)) for i in table.context.snapshots.ids()]
    found += [(tag.name, tag.snapshot) for tag in table.tags.list()]
    return found


def rows_at(history, snapshot):
    if snapshot is None:
        return Counter()
    return history.versions[snapshot.id, snapshot.delta_manifest_list]


def check(history, first, last):
    table = history.table
    (start, before), (end, after) = first, last
    expected = rows_at(history, after)
    diff = table.diff(start, end)
    assert history.applied(rows_at(history, before), told(diff)) == expected
    assert diff.prove().check()
    if (before.id if before else 0) > after.id:
        return
    changes = table.changes(start, end, with_commit=history.chance.random() < 0.3)
    said = changes.explain()
    assert history.applied(rows_at(history, before), told(changes)) == expected, said
    assert changes.prove(), said
    ids = changes.to_arrow()["_SNAPSHOT_ID"].to_pylist() if changes.with_commit else []
    assert ids == sorted(ids)


def play(seed):
    history = ChangeHistory(seed)
    for _ in range(history.chance.randint(3, 7)):
        history.step()
    check_some(history)


def check_some(history):
    found = bounds(history)
    check(history, history.chance.choice(found), history.chance.choice([f for f in found if f[1] is not None]))


@pytest.mark.parametrize("seed", [*range(26), *long_cases(range(26, 78))])
def test_applied_to_the_start_they_give_the_end(seed):
    play(seed)

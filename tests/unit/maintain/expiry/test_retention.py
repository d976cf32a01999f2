"""Retention: which lasting changelogs expire, and what protects the first one that is kept."""

import pytest

from paimon_core.maintain.expiry.retention import Bound, Retention, choose_changelogs, choose_snapshots
from tests.support.fake_tables import table_of


@pytest.mark.parametrize(
    ("older_than", "retain_max", "bound", "expired", "by"),
    [
        (9000, 9, 9, [1, 2], []),
        (2000, 9, 9, [1], []),
        (2001, 9, 9, [1, 2], []),
        (0, 9, 9, [], []),
        (0, 3, 9, [1], []),
        (9000, 9, 2, [1], ["consumer c"]),
        (9000, 9, 1, [], ["consumer c"]),
        (0, 9, 1, [], []),
    ],
    ids=[
        "all but the newest",
        "age",
        "age by one",
        "young",
        "number",
        "bound",
        "bound at the first",
        "young and bound",
    ],
)
def test_changelogs_expire_by_age_and_number_up_to_a_bound(older_than, retain_max, bound, expired, by):
    context = table_of(4)
    for snapshot_id in (1, 2, 3):
        context.changelogs.create(context.snapshots.read(snapshot_id))
    retention = Retention(retain_min=1, retain_max=retain_max, older_than_millis=older_than, limit=9)
    chosen = choose_changelogs(context.changelogs.read, retention, [1, 2, 3], [Bound(bound, "consumer c")], newest=4)
    assert [s.id for s in chosen.expired] == expired
    assert chosen.first_kept == context.snapshots.read(len(expired) + 1)
    assert [p.by for p in chosen.protected] == by


def test_what_is_deleted_meanwhile_is_skipped():
    context = table_of(4)
    for snapshot_id in (1, 3):
        context.changelogs.create(context.snapshots.read(snapshot_id))
    context.snapshots.delete([2])
    retention = Retention(retain_min=1, retain_max=9, older_than_millis=9000, limit=9)
    snapshots = choose_snapshots(context, retention, [1, 2, 3, 4], [Bound(9, "consumer c")], newest=4)
    assert [s.id for s in snapshots.expired] == [1, 3]
    changelogs = choose_changelogs(context.changelogs.read, retention, [1, 2, 3], [Bound(9, "consumer c")], newest=4)
    assert ([s.id for s in changelogs.expired], changelogs.first_kept.id) == ([1], 3)

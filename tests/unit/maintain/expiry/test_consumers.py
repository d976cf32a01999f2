"""Consumer expiry: deletes the files of consumers that recorded no progress, by a plan."""

from __future__ import annotations

import contextlib

import pytest

from paimon_core.errors import InvalidRequest, PlanOutdated
from paimon_core.maintain.expiry.consumers import apply_consumer_expiry, plan_consumer_expiry
from paimon_core.maintain.planning.plan import Plan
from tests.support.fake_tables import append, expire_all, fake_table, reopened
from tests.support.faulty_storage import Died, FaultyStorage


def table_of(*names, **options):
    context = fake_table(**options)
    for number in (1, 2, 3):
        append(context, now_millis=number)
    for name in names:
        context.consumers.reset(name, 2)
    return context, max((c.modified_millis for c in context.consumers.list()), default=0)


def test_consumers_without_progress_are_deleted_and_protect_no_snapshot():
    context, written = table_of("a", "b-c", **{"consumer.expiration-time": "1 h"})
    expire_all(context)
    assert context.snapshots.ids() == [2, 3]
    assert plan_consumer_expiry(context, now_millis=written + 3_600_000 - 10_000).is_empty
    plan = plan_consumer_expiry(context, now_millis=written + 3_600_001)
    assert plan.subjects == ("consumer a", "consumer b-c")
    report = apply_consumer_expiry(context, Plan.from_bytes(plan.to_bytes()))
    assert (report.expired, context.consumers.list()) == (("a", "b-c"), [])
    expire_all(context)
    assert context.snapshots.ids() == [3]


def test_a_consumer_expires_when_its_file_is_older_than_the_lifetime():
    context, written = table_of("a")
    assert plan_consumer_expiry(context, now_millis=written + 1000, lifetime_millis=1000).is_empty
    assert plan_consumer_expiry(context, now_millis=written + 1001, lifetime_millis=1000).subjects == ("consumer a",)


def test_a_consumer_file_that_cannot_be_parsed_expires_by_its_age():
    context, written = table_of("a")
    context.storage.overwrite(context.paths.consumer("a"), b"{")
    apply_consumer_expiry(context, plan_consumer_expiry(context, now_millis=written + 100_000, lifetime_millis=1))
    assert context.consumers.files() == []


def test_progress_since_the_plan_makes_it_outdated():
    context, written = table_of("a")
    plan = plan_consumer_expiry(context, now_millis=written + 100_000, lifetime_millis=1)
    context.consumers.reset("a", 33)
    with pytest.raises(PlanOutdated, match="consumer-a"):
        apply_consumer_expiry(context, plan)
    assert [c.next_snapshot for c in context.consumers.list()] == [33]


@pytest.mark.parametrize("after", [False, True])
def test_an_expiry_that_crashed_at_any_call_is_completed_by_the_next_one(after):
    for die_at in range(9):
        context, written = table_of("a", "b")
        storage = FaultyStorage(context.storage, die_at=die_at, die_after=after)
        dead = reopened(context, storage)
        with contextlib.suppress(Died):
            apply_consumer_expiry(dead, plan_consumer_expiry(dead, now_millis=written + 9, lifetime_millis=1))
        assert len(context.consumers.list()) == 2 - min(2, die_at + after)
        apply_consumer_expiry(context, plan_consumer_expiry(context, now_millis=written + 9, lifetime_millis=1))
        assert context.consumers.list() == []
        if not storage.dead:
            break
    assert die_at == 2


def test_a_plan_without_a_lifetime_is_refused():
    with pytest.raises(InvalidRequest, match=r"consumer\.expiration-time"):
        plan_consumer_expiry(fake_table(), now_millis=0)

"""Tag expiry by plan: what is deleted, later changes, and crashes; test_tags.py tests the expiry without a plan."""

from __future__ import annotations

import dataclasses

import pytest

from paimon_core.errors import CorruptTable, InvalidRequest, PlanOutdated
from paimon_core.maintain.planning.plan import Plan
from paimon_core.maintain.tags.expiry import apply_tag_expiry, expire_tags, plan_tag_expiry
from paimon_core.maintain.tags.operations import create_tag, delete_tag, replace_tag
from paimon_core.metadata.stores.tag_store import Tag
from tests.support.commits import commit
from tests.support.fake_tables import (
    append,
    assert_nothing_is_left_over,
    check_whole,
    compacted,
    data_files,
    expire_all,
    fake_file,
    fake_table,
    files_on_storage,
    message,
    reopened,
)
from tests.support.faulty_storage import Died, FaultyStorage


def tagged():
    """Tags ``x`` and ``y`` on snapshot 1 and ``z`` on 2 whose time is over at 51 s, and ``long`` on 2; all expired."""
    context, files = compacted()
    for name, snapshot, millis in (("x", 1, 1000), ("y", 1, 1000), ("z", 2, 1000), ("long", 2, 9000)):
        create_tag(context, name, context.snapshots.read(snapshot), millis, now_millis=50_000)
    expire_all(context)
    return context, files


def names(context):
    return [t.name for t in context.tags.list()]


def test_a_plan_lists_the_tags_and_the_files_that_only_they_use():
    context, _ = tagged()
    assert plan_tag_expiry(context, now_millis=51_000).is_empty
    plan = Plan.from_bytes(plan_tag_expiry(context, now_millis=51_001).to_bytes())
    assert (plan.subjects, plan.protected) == (("tag x", "tag y", "tag z"), ())
    before = files_on_storage(context)
    report = apply_tag_expiry(context, plan)
    assert report.expired == ("x", "y", "z")
    assert sorted(report.removed.paths) == sorted(f.path for f in plan.files)
    gone = {context.paths.relative(f.path) for f in plan.files} | {"tag/tag-x", "tag/tag-y", "tag/tag-z"}
    assert before - files_on_storage(context) == gone
    assert report.removed.metadata_files
    check_whole(context)
    assert_nothing_is_left_over(context)
    assert apply_tag_expiry(context, plan_tag_expiry(context, now_millis=51_001)).expired == ()


def test_the_data_files_are_deleted_with_the_last_tags_that_use_them():
    context, (a, b, c, d) = tagged()
    plan = plan_tag_expiry(context, now_millis=10**12)
    assert {f.path.rsplit("/", 1)[1] for f in plan.files if "bucket" in f.path} == {a, b}
    assert all(f.size for f in plan.files if "bucket" in f.path)
    assert apply_tag_expiry(context, plan).removed.data_files == 2
    assert (data_files(context), names(context)) == ({c, d}, [])
    assert_nothing_is_left_over(context)


def test_the_plan_lists_what_expire_tags_deletes():
    for older_than in (None, 50_001):
        (one, _), (two, _) = tagged(), tagged()
        plan = plan_tag_expiry(one, now_millis=51_001, older_than_millis=older_than)
        assert len(plan.subjects) == (3 if older_than is None else 4)
        assert list(apply_tag_expiry(one, plan).expired) == expire_tags(two, 51_001, older_than_millis=older_than)
        assert len(data_files(one)) == len(data_files(two))


def test_a_tag_created_at_the_given_time_is_not_older():
    context, _ = tagged()
    assert plan_tag_expiry(context, now_millis=51_000, older_than_millis=50_000).is_empty


def test_an_expired_oldest_tag_keeps_files_that_the_next_snapshot_uses():
    context = fake_table(keyed=False)
    old = fake_file(context)
    append(context, old)
    append(context)
    commit([message(context, before=(old,), after=(fake_file(context),))], context=context, user="c")
    create_tag(context, "t", context.snapshots.read(1), 1000, now_millis=50_000)
    context.snapshots.delete([1])
    assert apply_tag_expiry(context, plan_tag_expiry(context, now_millis=51_001)).removed.data_files == 0
    check_whole(context)


def test_a_plan_that_another_tag_made_outdated_deletes_nothing():
    context, _ = tagged()
    plan = plan_tag_expiry(context, now_millis=51_001)
    create_tag(context, "new", context.tags.read("x").snapshot)
    before = files_on_storage(context)
    with pytest.raises(PlanOutdated, match="tag tag-new of branch main changed"):
        apply_tag_expiry(context, plan)
    assert files_on_storage(context) == before


@pytest.mark.parametrize(
    ("meanwhile", "left"),
    [
        (lambda c: c.tags.put(Tag("y", c.snapshots.latest(), 50_000, 1000)), ["long", "y"]),
        (lambda c: replace_tag(c, "y", c.tags.read("y").snapshot, 10**15), ["long", "y"]),
        (lambda c: replace_tag(c, "y", c.tags.read("y").snapshot), ["long", "y"]),
        (lambda c: delete_tag(c, "y"), ["long"]),
        (lambda c: create_tag(c, "late", c.tags.read("x").snapshot), ["late", "long"]),
    ],
    ids=["moved", "longer", "forever", "gone", "another"],
)
def test_a_tag_that_changes_while_the_plan_is_applied(meanwhile, left):
    context, _ = tagged()
    plan = plan_tag_expiry(context, now_millis=51_001)
    storage = FaultyStorage(context.storage)
    storage.before("delete", "tag-x", lambda: meanwhile(context))
    apply_tag_expiry(reopened(context, storage), plan)
    assert names(context) == left
    check_whole(context)


@pytest.mark.parametrize("after", [False, True])
def test_a_crash_leaves_complete_tags_and_the_next_plan_continues(after):
    for die_at in range(30):
        context, _ = tagged()
        plan = plan_tag_expiry(context, now_millis=51_001)
        storage = FaultyStorage(context.storage, die_at=die_at, die_after=after)
        try:
            apply_tag_expiry(reopened(context, storage), plan)
        except Died:
            check_whole(context)
            apply_tag_expiry(context, plan_tag_expiry(context, now_millis=51_001))
        assert names(context) == ["long"]
        check_whole(context)
        if not storage.dead:
            break
    assert 3 < die_at < 29


def test_a_live_snapshot_protects_its_files():
    context, files = compacted()
    create_tag(context, "x", context.snapshots.read(1), 1000, now_millis=50_000)
    plan = plan_tag_expiry(context, now_millis=51_001)
    assert (plan.subjects, plan.files) == (("tag x",), ())
    append(context)
    assert apply_tag_expiry(context, plan).expired == ("x",)
    assert set(files) <= data_files(context)


def test_each_expired_tag_keeps_files_that_neighbouring_snapshots_use():
    """Snapshots 1, 2 and 4 have expired, 3, 5 and 6 are live; the latest uses neither a nor b."""
    context = fake_table(keyed=False)
    a, b, c = (fake_file(context) for _ in range(3))
    for added in (a, fake_file(context), fake_file(context), b):
        append(context, added)
    commit([message(context, before=(a,), after=(fake_file(context),))], context=context, user="c")
    commit([message(context, before=(b,), after=(c,))], context=context, user="c")
    for name, snapshot in (("early", 1), ("later", 4)):
        create_tag(context, name, context.snapshots.read(snapshot), 1000, now_millis=50_000)
    context.snapshots.delete([1, 2, 4])
    plan = plan_tag_expiry(context, now_millis=51_001)
    assert [f.path for f in plan.files if "bucket" in f.path] == []
    assert apply_tag_expiry(context, plan).expired == ("early", "later")
    assert {a.file_name, b.file_name, c.file_name} <= data_files(context)
    check_whole(context, contiguous=False)


def test_plans_with_wrong_arguments_or_operation_are_refused():
    context, _ = tagged()
    plan = plan_tag_expiry(context, now_millis=51_001)
    for changed in ({"tags": ["x"]}, {"now_millis": "1"}, {"older_than_millis": None}):
        with pytest.raises(InvalidRequest):
            apply_tag_expiry(context, dataclasses.replace(plan, arguments={**plan.arguments, **changed}))
    with pytest.raises(InvalidRequest, match="cannot be applied as a plan to expire-tags"):
        apply_tag_expiry(context, dataclasses.replace(plan, operation="delete-tag"))
    assert len(names(context)) == 4


def test_a_tag_that_cannot_be_read_stops_the_plan():
    context, _ = tagged()
    context.storage.overwrite(context.paths.tag("long"), b"{")
    with pytest.raises(CorruptTable, match="tag-long"):
        plan_tag_expiry(context, now_millis=51_001)

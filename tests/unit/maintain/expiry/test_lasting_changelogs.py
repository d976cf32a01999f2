"""Changelogs that outlive their snapshots: which files are kept for them, how they are read, and when they expire."""

from __future__ import annotations

import dataclasses
import json

import pytest

from paimon_core.errors import CorruptTable, InvalidRequest, PlanOutdated, SnapshotNotFound
from paimon_core.maintain.expiry.changelogs import (
    apply_changelog_expiry,
    changelog_retention,
    expire_changelogs,
    plan_changelog_expiry,
)
from paimon_core.maintain.expiry.configured import expire_retained
from paimon_core.maintain.expiry.retention import Retention
from paimon_core.maintain.planning.plan import Plan
from paimon_core.maintain.tags.operations import create_tag
from paimon_core.metadata.data_file import FileSource
from paimon_core.plan.changelog_plan import changed_files, changed_snapshot, changed_snapshots
from tests.support.clones import clone
from tests.support.commits import commit
from tests.support.fake_tables import (
    EVERYTHING,
    append,
    data_files,
    expire_all,
    fake_file,
    fake_table,
    files_on_storage,
    message,
    reopened,
)
from tests.support.faulty_storage import Died, FaultyStorage
from tests.support.long_cases import long_cases
from tests.support.reachable import assert_whole_and_clean


def history(producer):
    """1: a; 2: b; 3: both become c; 4: d; 5: c becomes e; 6: f. With a producer, all but 5 have a changelog."""
    context = fake_table(**{"changelog-producer": producer})
    names = {}

    def file(name, **kwargs):
        source = FileSource.COMPACT if kwargs else FileSource.APPEND
        made = dataclasses.replace(fake_file(context, **kwargs), file_source=source)
        names[name] = made.file_name
        return made

    def told(number):
        return (fake_file(context, name=f"changelog-{number}.parquet"),) if producer != "none" else ()

    a, b, c = file("a"), file("b"), file("c", level=4, rows=20)
    d, e, f = file("d"), file("e", level=5, rows=20), file("f")
    steps = [
        message(context, a, changelog=told(1)),
        message(context, b, changelog=told(2)),
        message(context, before=(a, b), after=(c,), compact_changelog=told(3)),
        message(context, d, changelog=told(4)),
        message(context, before=(c,), after=(e,)),
        message(context, f, changelog=told(6)),
    ]
    for number, step in enumerate(steps, 1):
        commit([step], context=context, user="u", now_millis=number * 1000)
    return context, names


def told_files(context, snapshot_id):
    return [f.file.file_name for f in changed_files(context, changed_snapshot(context, snapshot_id))]


PRODUCERS = pytest.mark.parametrize("producer", ["none", "input"])
CRASHES = pytest.mark.parametrize(
    ("producer", "after"), [("input", False), *long_cases([("input", True), ("none", False), ("none", True)])]
)


@PRODUCERS
def test_changes_can_be_read_after_their_snapshots_expired(producer):
    context, names = history(producer)
    before = [told_files(context, i) for i in range(1, 7)]
    report = expire_all(context, decoupled=True)
    assert report.expired == (1, 2, 3, 4, 5)
    assert (context.snapshots.ids(), context.changelogs.ids()) == ([6], [1, 2, 3, 4, 5])
    assert context.storage.read(context.paths.changelog_hint("LATEST")) == b"5"
    assert list(changed_snapshots(context, None, None, None)) == [1, 2, 3, 4, 5, 6]
    assert [told_files(context, i) for i in range(1, 7)] == before
    assert_whole_and_clean(context)
    kept = data_files(context)
    assert ({names["a"], names["b"]} <= kept) is (producer == "none")
    assert names["c"] not in kept


@PRODUCERS
def test_a_changelog_file_has_the_content_of_its_snapshot_file(producer):
    context, _ = history(producer)
    texts = [context.storage.read(context.paths.snapshot(i)) for i in (1, 2)]
    expire_all(context, retain_min=4, decoupled=True)
    assert [context.storage.read(context.paths.changelog(i)) for i in (1, 2)] == texts
    assert json.loads(texts[0])["id"] == 1


@PRODUCERS
def test_an_expiry_of_changelogs_deletes_their_files(producer):
    context, names = history(producer)
    expire_all(context, decoupled=True)
    report = expire_changelogs(context, Retention(3, 1000, 10**15, 1000))
    assert (report.expired, context.changelogs.ids()) == ((1, 2, 3), [4, 5])
    assert context.storage.read(context.paths.changelog_hint("EARLIEST")) == b"4"
    with pytest.raises(SnapshotNotFound, match=r"snapshot 1 has expired.*changes after snapshot 3 are available"):
        changed_snapshots(context, None, None, None)
    assert [told_files(context, i) for i in (4, 6)] != [[], []]
    assert_whole_and_clean(context)
    assert {names["a"], names["b"]}.isdisjoint(data_files(context))
    assert expire_changelogs(context, EVERYTHING).expired == (4,)  # the newest is kept, as in Java
    assert_whole_and_clean(context)
    append(context, now_millis=7000)
    expire_all(context, decoupled=True)
    assert expire_changelogs(context, EVERYTHING).expired == (5,)
    assert_whole_and_clean(context)


@pytest.mark.parametrize(
    ("rules", "left"),
    [
        ({"retain_min": 4}, [3, 4, 5]),
        ({"older_than_millis": 3000}, [3, 4, 5]),
        ({"older_than_millis": 3001}, [4, 5]),
        ({"older_than_millis": 0}, [1, 2, 3, 4, 5]),
        ({"older_than_millis": 0, "retain_max": 3}, [4, 5]),
        ({"limit": 1}, [2, 3, 4, 5]),
    ],
)
def test_number_age_and_limit_bound_the_expiry_of_changelogs(rules, left):
    context, _ = history("input")
    expire_all(context, decoupled=True)
    usual = {"retain_min": 1, "retain_max": 1000, "older_than_millis": 10**15, "limit": 1000}
    expire_changelogs(context, Retention(**{**usual, **rules}))
    assert context.changelogs.ids() == left
    assert_whole_and_clean(context)


@PRODUCERS
@pytest.mark.parametrize("earlier", [None, 5])
@pytest.mark.parametrize("kept", [1, 2, 4])
def test_a_dry_run_reports_the_changelogs_and_files_that_the_expiry_then_removes(producer, earlier, kept):
    """Some changelogs outlive their snapshots already (``earlier``), the others become lasting ones in the same run."""
    context, _ = history(producer)
    if earlier:
        expire_all(context, retain_min=earlier, decoupled=True)
    retentions = dataclasses.replace(EVERYTHING, retain_min=1), dataclasses.replace(EVERYTHING, retain_min=kept)
    before = files_on_storage(context)
    planned = expire_retained(context, *retentions, dry_run=True)
    assert files_on_storage(context) == before
    done = expire_retained(context, *retentions)
    assert planned.changelogs == done.changelogs != ()
    assert sorted(planned.removed.paths) == sorted(done.removed.paths)
    assert dataclasses.replace(planned, dry_run=False, removed=done.removed) == done
    assert planned.removed.size_bytes == done.removed.size_bytes


def test_a_consumer_protects_changelogs_and_with_changelog_only_no_snapshots():
    context, _ = history("input")
    context.consumers.reset("slow", 2)
    expire_all(context, decoupled=True)
    assert context.snapshots.ids() == [2, 3, 4, 5, 6]
    context = context.with_dynamic({"consumer.changelog-only": "true"})
    expire_all(context, decoupled=True)
    assert (context.snapshots.ids(), context.changelogs.ids()) == ([6], [1, 2, 3, 4, 5])
    report = expire_changelogs(context, EVERYTHING)
    assert report.expired == (1,)
    assert [p.by for p in report.protected] == ["consumer slow"]


def test_a_tag_protects_its_files_when_its_changelog_expires():
    context, names = history("none")
    create_tag(context, "t", context.snapshots.read(2))
    expire_all(context, decoupled=True)
    report = expire_changelogs(context, EVERYTHING)
    assert [str(p.by) for p in report.protected] == ["tag t"]
    assert {names["a"], names["b"]} <= data_files(context)
    assert_whole_and_clean(context)


def test_older_changelogs_stay_complete_after_snapshots_expire_without_changelogs():
    """The options may change: the files of older changelogs are kept until these expire."""
    context, _ = history("none")
    expire_all(context, retain_min=5, decoupled=True)
    assert context.changelogs.ids() == [1]
    expire_all(context)
    assert context.snapshots.ids() == [6]
    assert len(told_files(context, 1)) == 1
    assert_whole_and_clean(context, clean=False)


@pytest.mark.parametrize("left", range(2, 9))
def test_manifests_shared_with_remaining_changelogs_are_kept(left):
    context = fake_table(**{"manifest.merge-min-count": "3"})
    for number in range(9):
        append(context, now_millis=number)
    expire_all(context, decoupled=True)
    expire_changelogs(context, Retention(left, 1000, 10**15, 1000))
    assert context.changelogs.ids() == list(range(10 - left, 9))
    assert_whole_and_clean(context)


@pytest.mark.usefixtures("fake_rows")
def test_a_file_that_the_latest_snapshot_added_again_is_kept():
    """A new snapshot that restores an old state adds files again that the delta of a changelog deleted."""
    context, names = history("none")
    old = [e.file for e in context.manifests.entries_of(context.snapshots.read(1))]
    now = [e.file for e in context.manifests.entries_of(context.snapshots.read(6))]
    commit([message(context, *old, deleted=tuple(now))], context=context, user="u", now_millis=7000)
    expire_all(context, decoupled=True)
    expire_changelogs(context, EVERYTHING)
    assert names["a"] in data_files(context)
    assert_whole_and_clean(context, clean=False)


def test_a_gap_in_the_changelog_ids_does_not_stop_the_expiry():
    context, _ = history("input")
    expire_all(context, decoupled=True)
    context.changelogs.delete([2, 4])
    assert expire_changelogs(context, EVERYTHING).expired == (1, 3)
    assert context.changelogs.ids() == [5]


def test_a_changelog_of_a_snapshot_that_was_rolled_back_is_replaced():
    context, _ = history("input")
    context.storage.write(context.paths.changelog(1), context.snapshots.read(2).to_json().encode())
    expire_all(context, retain_min=5, decoupled=True)
    assert context.changelogs.read(1).id == 1


def test_a_changelog_whose_snapshot_still_exists_does_not_expire():
    context, _ = history("input")
    for i in (1, 2, 3):
        context.changelogs.create(context.snapshots.read(i))
    assert expire_changelogs(context, EVERYTHING).expired == ()
    assert_whole_and_clean(context)


def test_a_changelog_that_cannot_be_read_stops_the_expiry():
    context, _ = history("input")
    expire_all(context, decoupled=True)
    context.storage.overwrite(context.paths.changelog(2), b"{")
    before = files_on_storage(context)
    with pytest.raises(CorruptTable, match="changelog-2"):
        expire_changelogs(context, EVERYTHING)
    assert files_on_storage(context) == before


@PRODUCERS
def test_a_plan_lists_what_it_deletes_and_is_refused_after_the_table_changed(producer):
    context, _ = history(producer)
    expire_all(context, decoupled=True)
    plan = Plan.from_bytes(plan_changelog_expiry(context, EVERYTHING).to_bytes())
    assert plan.subjects == ("changelog 1", "changelog 2", "changelog 3", "changelog 4")
    before = files_on_storage(context)
    create_tag(context, "t", context.snapshots.read(6))
    with pytest.raises(PlanOutdated, match="tag-t"):
        apply_changelog_expiry(context, plan)
    context.tags.delete("t")
    assert files_on_storage(context) == before
    report = apply_changelog_expiry(context, plan)
    assert report.expired == (1, 2, 3, 4)
    root = context.paths.root + "/"
    gone = before - files_on_storage(context) - {f"changelog/changelog-{i}" for i in report.expired}
    assert gone == {f.path.removeprefix(root) for f in plan.files} & before
    assert_whole_and_clean(context)
    with pytest.raises(PlanOutdated):
        apply_changelog_expiry(context, plan)


@CRASHES
def test_an_expiry_with_lasting_changelogs_that_crashes_at_any_call_leaves_a_complete_table(producer, after):
    start, _ = history(producer)
    create_tag(start, "t", start.snapshots.read(2))
    for die_at in range(60):
        context = clone(start)
        storage = FaultyStorage(context.storage, die_at=die_at, die_after=after)
        try:
            expire_all(reopened(context, storage), decoupled=True, retain_min=2)
        except Died:
            assert_whole_and_clean(context, clean=False)
        expire_all(context, decoupled=True, retain_min=2)
        assert (context.snapshots.ids(), context.changelogs.ids()) == ([5, 6], [1, 2, 3, 4])
        assert_whole_and_clean(context, clean=False)
        assert all(told_files(context, i) for i in (1, 2, 4, 6))
        if not storage.dead:
            break
    assert die_at >= 11


@CRASHES
def test_an_expiry_of_changelogs_that_crashes_at_any_call_leaves_a_complete_table(producer, after):
    start, _ = history(producer)
    create_tag(start, "t", start.snapshots.read(2))
    expire_all(start, decoupled=True)
    for die_at in range(60):
        context = clone(start)
        storage = FaultyStorage(context.storage, die_at=die_at, die_after=after)
        try:
            expire_changelogs(reopened(context, storage), Retention(3, 1000, 10**15, 1000))
        except Died:
            assert_whole_and_clean(context, clean=False)
        expire_changelogs(context, Retention(3, 1000, 10**15, 1000))
        assert context.changelogs.ids() == [4, 5]
        assert_whole_and_clean(context, clean=False)
        if not storage.dead:
            break
    assert die_at >= 6


def test_a_tag_created_during_the_expiry_protects_its_files():
    context, names = history("none")
    second = context.snapshots.read(2)
    create_tag(context, "old", second)
    expire_all(context, decoupled=True)
    context.tags.delete("old")
    storage = FaultyStorage(context.storage)
    storage.before("delete", "changelog-1", lambda: context.tags.create("t", second))
    expire_changelogs(reopened(context, storage), EVERYTHING)
    assert {names["a"], names["b"]} <= data_files(context)


def test_the_retention_of_changelogs_is_that_of_snapshots_where_no_changelog_option_is_set():
    snapshots = Retention(10, 100, 5_000, 50)
    assert changelog_retention(fake_table(), snapshots, 10_000) is None
    for option, value, want in (
        ("changelog.num-retained.min", "20", Retention(20, 100, 5_000, 50)),
        ("changelog.num-retained.max", "200", Retention(10, 200, 5_000, 50)),
        ("changelog.time-retained", "9 s", Retention(10, 100, 1_000, 50)),
    ):
        assert changelog_retention(fake_table(**{option: value}), snapshots, 10_000) == want
    shorter = fake_table(**{"changelog.num-retained.min": "5", "changelog.time-retained": "1 s"})
    assert changelog_retention(shorter, snapshots, 10_000) is None


def test_a_wrong_retention_is_refused():
    context, _ = history("input")
    with pytest.raises(InvalidRequest, match=r"keep_max \(option \*\.num-retained\.max\) is 1, less than keep_last"):
        expire_changelogs(context, Retention(2, 1, 0, 1))

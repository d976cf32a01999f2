import pytest

from paimon_core.compact.recent_compactions import FULL_MARK, full_is_due, marked, overdue_buckets
from paimon_core.compact.task import AppendUnit, CompactionTask
from tests.support.fake_tables import append, commit, fake_file, fake_table, message, partition

MARK = dict([FULL_MARK])
GENTLE = {"force-lookup": "true", "lookup-compact": "gentle", "lookup-compact.max-interval": "5"}


def compact(context, file, **kwargs):
    upgraded = message(context, before=(file,), after=(file.upgraded(5),))
    return commit([upgraded], context=context, user="c", **kwargs)[-1]


def due(context):
    return full_is_due(context, context.snapshots.latest())


def overdue(context):
    latest = context.snapshots.latest()
    return overdue_buckets(context, latest, context.manifests.entries_of(latest))


def test_due_after_as_many_commits():
    context = fake_table(**{"full-compaction.delta-commits": "3"})
    assert not due(context)
    file = fake_file(context)
    append(context, file)
    append(context)
    compact(context, file)  # neither a commit of rows nor marked
    assert not due(context)
    append(context)
    assert due(context)


def test_a_full_compaction_restarts_the_count():
    context = fake_table(**{"full-compaction.delta-commits": "2"})
    file = fake_file(context)
    append(context, file)
    append(context)
    compact(context, file, properties=MARK)
    assert not due(context)
    append(context)
    assert not due(context)
    append(context)
    assert due(context)


def test_the_full_compaction_producer_counts_every_commit():
    context = fake_table(**{"changelog-producer": "full-compaction"})
    assert not due(context)
    append(context)
    assert due(context)
    context = fake_table(**{"changelog-producer": "full-compaction", "full-compaction.delta-commits": "2"})
    append(context)
    assert not due(context)


def test_a_table_without_the_option_is_never_due():
    context = fake_table()
    append(context)
    assert not due(context)


def test_expired_snapshots_make_it_due_early():
    context = fake_table(**{"full-compaction.delta-commits": "9"})
    for _ in range(3):
        append(context)
    assert not due(context)
    context.snapshots.delete([1])
    assert due(context)
    context.snapshots.delete([2])
    file = fake_file(context)
    append(context, file)
    compact(context, file, properties=MARK)
    context.snapshots.delete([3, 4])
    assert not due(context)


def test_level_0_is_overdue_after_the_gentle_interval():
    context = fake_table(**GENTLE)
    append(context)
    for _ in range(3):
        commit([message(context, fake_file(context, bucket=1), bucket=1)], context=context, user="u")
    assert overdue(context) == set()
    compact(context, (settled := fake_file(context, level=0, low=10, high=19), append(context, settled))[0])
    assert overdue(context) == {(partition("a"), 0)}
    commit([message(context, fake_file(context, bucket=1), bucket=1)], context=context, user="u")
    assert overdue(context) == {(partition("a"), 0), (partition("a"), 1)}


def test_files_of_the_earliest_snapshot_are_old_enough():
    context = fake_table(**GENTLE)
    append(context)
    append(context)
    assert overdue(context) == set()
    context.snapshots.delete([1])
    assert overdue(context) == {(partition("a"), 0)}


def test_other_tables_have_nothing_overdue():
    for options in ({}, {"force-lookup": "true"}, {"lookup-compact": "gentle"}):
        context = fake_table(**options)
        for _ in range(11):
            append(context)
        assert overdue(context) == set()


@pytest.mark.parametrize(("flags", "is_full"), [([True, True], True), ([True, False], False), ([], False)])
def test_only_a_compaction_of_the_whole_table_is_marked(flags, is_full):
    tasks = [CompactionTask(b"", n, 2, AppendUnit(()), flag) for n, flag in enumerate(flags)]
    assert marked(tasks, {"a": "b"}) == {"a": "b"} | (MARK if is_full else {})

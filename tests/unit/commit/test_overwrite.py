"""Overwrite: which files are replaced, also when a concurrent commit changes the table."""

import pytest

from paimon_core.commit.overwrite import Overwrite
from paimon_core.errors import InvalidRequest
from paimon_core.metadata.snapshot import CommitKind
from tests.support.commits import commit
from tests.support.fake_tables import append, fake_file, fake_table, live, message, partition, reopened
from tests.support.faulty_storage import FaultyStorage

EVERYTHING = Overwrite(lambda p: True)


def names(context):
    return {name for _, _, name in live(context)}


def two_partitions():
    context = fake_table()
    a, b = fake_file(context, of="a"), fake_file(context, of="b", level=5)
    commit([message(context, a, of="a"), message(context, b, of="b")], context=context, user="u")
    return context, a, b


def overwrite(context, messages, spec, **kwargs):
    return commit(messages, context=context, user="o", overwrite=spec, **kwargs)


def test_dynamic_replaces_the_partitions_of_the_new_files():
    context, _, b = two_partitions()
    new = fake_file(context, of="a", bucket=1)
    (snapshot,) = overwrite(context, [message(context, new, bucket=1)], Overwrite())
    assert snapshot.commit_kind is CommitKind.OVERWRITE
    assert (snapshot.delta_record_count, snapshot.total_record_count) == (0, 20)
    assert names(context) == {new.file_name, b.file_name}


def test_dynamic_without_files_replaces_nothing():
    context, a, b = two_partitions()
    assert overwrite(context, [], Overwrite()) == ()
    assert names(context) == {a.file_name, b.file_name}


def test_static_replaces_what_matches_with_or_without_files():
    context, a, _ = two_partitions()
    (snapshot,) = overwrite(context, [], Overwrite(lambda p: p == partition("b")))
    assert snapshot.delta_record_count == -10
    assert names(context) == {a.file_name}
    new = fake_file(context)
    overwrite(context, [message(context, new)], EVERYTHING)
    assert names(context) == {new.file_name}


def test_static_that_finds_nothing_is_recorded_only_under_an_identifier():
    context = fake_table()
    assert overwrite(context, [], EVERYTHING) == ()
    (snapshot,) = overwrite(context, [], EVERYTHING, identifier=1)
    assert (snapshot.commit_kind, snapshot.delta_record_count) == (CommitKind.OVERWRITE, 0)
    append(context)
    assert overwrite(context, [], EVERYTHING, identifier=1) == (snapshot,)
    assert len(live(context)) == 1


def test_static_refuses_rows_that_it_does_not_replace():
    context, _, _ = two_partitions()
    with pytest.raises(InvalidRequest, match="p=a"):
        overwrite(context, [message(context, fake_file(context))], Overwrite(lambda p: p == partition("b")))
    assert context.snapshots.ids() == [1]


def test_files_that_arrive_while_it_commits_are_replaced_too():
    context, _, b = two_partitions()
    storage = FaultyStorage(context.storage)
    storage.before("create_exclusive", "snapshot-2", lambda: append(context, user="rival"))
    new = fake_file(context)
    (snapshot,) = overwrite(reopened(context, storage), [message(context, new)], Overwrite())
    assert (snapshot.id, snapshot.delta_record_count) == (3, -10)
    assert names(context) == {new.file_name, b.file_name}


def test_null_and_blank_partitions_are_partitions():
    context = fake_table()
    for value in (None, "", "x"):
        commit([message(context, fake_file(context, of=value), of=value)], context=context, user="u")
    overwrite(context, [], Overwrite(lambda p: p == partition(None)))
    assert context.snapshots.latest().total_record_count == 20
    kept = {e.partition for e in context.manifests.entries_of(context.snapshots.latest())}
    assert kept == {partition(""), partition("x")}


def test_it_may_change_the_number_of_buckets():
    context, _, b = two_partitions()
    new = fake_file(context, bucket=7)
    overwrite(context, [message(context, new, bucket=7, total=8)], Overwrite())
    assert names(context) == {new.file_name, b.file_name}


def test_messages_that_delete_files_are_refused():
    context, a, _ = two_partitions()
    with pytest.raises(InvalidRequest, match="must not delete"):
        overwrite(context, [message(context, deleted=(a,))], EVERYTHING)

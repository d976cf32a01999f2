"""Conflicts: changes that are no longer valid are refused with the file's name; appends need few reads."""

import dataclasses

import pytest

from paimon_core.commit.author import Author
from paimon_core.commit.base import Base
from paimon_core.commit.changes import changes_of
from paimon_core.commit.committer import commit_changes
from paimon_core.commit.overwrite import Overwrite
from paimon_core.errors import CommitConflict
from tests.support.commits import commit
from tests.support.fake_tables import append, fake_file, fake_table, live, message, partition, reopened
from tests.support.faulty_storage import FaultyStorage

pytestmark = pytest.mark.usefixtures("fake_rows")


def land(context, *messages):
    return commit(list(messages), context=context, user="u")


def test_the_number_of_buckets_is_the_partitions():
    context = fake_table()
    append(context)
    with pytest.raises(CommitConflict, match=r"p=a/bucket-0 was written for 3 buckets, but its partition has 2"):
        land(context, message(context, fake_file(context), total=3))
    land(context, message(context, fake_file(context, of="b"), of="b", total=3))
    with pytest.raises(CommitConflict, match="only an overwrite"):
        land(
            context,
            message(context, fake_file(context)),
            message(context, fake_file(context, bucket=1), bucket=1, total=4),
        )


def test_a_partition_of_one_bucket_stays_so():
    context = fake_table(bucket="1")
    land(context, message(context, fake_file(context), total=1))
    with pytest.raises(CommitConflict, match="written for 2 buckets, but its partition has 1"):
        land(context, message(context, fake_file(context), total=2))


def test_a_partition_that_was_emptied_takes_any_number_of_buckets():
    context = fake_table()
    old = fake_file(context)
    append(context, old)
    land(context, message(context, deleted=(old,)))
    land(context, message(context, fake_file(context), total=3))
    assert len(live(context)) == 1


def test_files_committed_twice_are_noticed():
    context = fake_table()
    file = fake_file(context)
    append(context, file)
    append(context)
    with pytest.raises(CommitConflict, match=rf"{file.file_name}.*snapshot 1 \(append commit of user u\) added it"):
        append(context, file)
    with pytest.raises(CommitConflict, match="occurs twice as ADD"):
        land(context, *[message(context, fake_file(context, name="data-same.parquet"))] * 2)
    assert context.snapshots.ids() == [1, 2]


def test_a_file_that_does_not_say_when_it_was_made_is_looked_for_in_the_latest_snapshot():
    context = fake_table()
    file = dataclasses.replace(fake_file(context), creation_time_millis=None)
    append(context, file)
    with pytest.raises(CommitConflict, match="already in the table"):
        append(context, file)


def test_a_compaction_keeps_the_number_of_buckets():
    context = fake_table()
    old = fake_file(context)
    append(context, old, fake_file(context))
    with pytest.raises(CommitConflict, match="written for 3 buckets"):
        land(context, message(context, before=(old,), after=(fake_file(context, level=5),), total=3))


def test_an_append_of_fresh_files_reads_no_more_than_the_newest_manifest():
    context = fake_table()
    for _ in range(10):
        append(context)
    storage = FaultyStorage(context.storage)
    mine = reopened(context, storage)
    latest = context.snapshots.latest()
    new = dataclasses.replace(message(mine, fake_file(mine)), numbered_after=(latest.id, latest.delta_manifest_list))
    commit_changes(changes_of([new]), mine, Author("u"), fresh=True)
    assert storage.count("read", "manifest/manifest-list-") == 2
    assert storage.count("read", "manifest/manifest-") - 2 == 1
    assert storage.count("read", "snapshot/snapshot-") == 4  # the latest snapshot three times, and the one below it
    assert storage.count("list", "snapshot") == 0


def test_who_compacts_twice_is_told_to_do_it_in_one_place():
    context = fake_table()
    old = fake_file(context)
    append(context, old)
    land(context, message(context, before=(old,), after=(fake_file(context, 0, 9, level=5),)))
    with pytest.raises(CommitConflict, match="let only one of them do it") as caught:
        land(context, message(context, before=(old,), after=(fake_file(context, level=5),)))
    assert {k: v for k, v in caught.value.facts.items() if k.startswith("other")} == {
        "other_user": "u",
        "other_snapshot": 2,
        "other_kind": "COMPACT",
    }
    with pytest.raises(CommitConflict, match=r"another compaction, snapshot 2 \(compaction of user u\), filled it"):
        land(context, message(context, after=(fake_file(context, 5, 12, level=5),)))


def test_rows_that_were_read_and_replaced_meanwhile_are_to_be_read_again():
    context = fake_table(keyed=False)
    old = fake_file(context)
    append(context, old)
    land(context, message(context, fake_file(context), deleted=(old,)))
    with pytest.raises(CommitConflict, match=r"snapshot 2 \(overwrite commit of user u\) removed it; read the table"):
        land(context, message(context, fake_file(context), deleted=(old,)))
    with pytest.raises(CommitConflict, match="plan the compaction again"):
        land(context, message(context, before=(old,), after=(fake_file(context),)))


def test_a_partition_that_has_expired_says_what_to_leave_out():
    context = fake_table(**{"partition.expiration-time": "7 d"})
    if context.options.unwritable:
        context = dataclasses.replace(context, options=dataclasses.replace(context.options, unwritable=()))
    old = fake_file(context)
    append(context, old)
    commit([], context=context, user="expiry", overwrite=Overwrite(lambda p: True))
    with pytest.raises(CommitConflict, match=r"user expiry\) removed it; .*partition.expiration-time.*leave out rows"):
        land(context, message(context, before=(old,), after=(fake_file(context, level=5),)))


def test_a_file_may_not_go_and_come_back_in_one_commit():
    context = fake_table(keyed=False)
    old = fake_file(context)
    append(context, old)
    with pytest.raises(CommitConflict, match="delete it and add it"):
        land(context, message(context, old, deleted=(old,)))
    with pytest.raises(CommitConflict, match="already in the table"):
        commit([message(context, old)], context=context, user="u", overwrite=Overwrite())


def test_deleting_a_file_of_another_level_is_deleting_another_file():
    context = fake_table()
    old = fake_file(context)
    append(context, old)
    with pytest.raises(CommitConflict, match="no longer in the table"):
        land(context, message(context, before=(old.upgraded(3),), after=(old.upgraded(4),)))


def test_adding_a_file_that_is_there_conflicts():
    context = fake_table()
    old, other = fake_file(context), fake_file(context)
    append(context, old, other)
    with pytest.raises(CommitConflict, match="already in the table"):
        land(context, message(context, before=(other,), after=(old,)))


def test_keys_may_not_overlap_above_level_0():
    context = fake_table()
    a, b = fake_file(context, 0, 9), fake_file(context, 9, 20)
    append(context, a, b)
    land(context, message(context, before=(a,), after=(a.upgraded(5),)))
    with pytest.raises(CommitConflict, match=rf"{b.file_name}.*overlaps the keys of {a.file_name} on level 5"):
        land(context, message(context, before=(b,), after=(b.upgraded(5),)))
    land(context, message(context, before=(b,), after=(b.upgraded(4),)))
    next_to_it = fake_file(context, 10, 20)
    land(context, message(context, before=(b.upgraded(4),), after=(dataclasses.replace(next_to_it, level=5),)))
    assert {level for _, level, _ in live(context)} == {5}


def test_negative_keys_are_in_the_order_of_numbers():
    context = fake_table()
    low, high = fake_file(context, -9, -1), fake_file(context, 0, 5)
    append(context, low, high)
    land(context, message(context, before=(low, high), after=(low.upgraded(5), high.upgraded(5))))
    assert {level for _, level, _ in live(context)} == {5}


def test_only_manifests_of_the_partitions_are_opened():
    context = fake_table()
    for value in "abcd":
        land(context, message(context, fake_file(context, of=value), of=value))
    base = Base(context, context.snapshots.latest())
    opened = [m for m in base.manifests if base.may_hold(m, {partition("b"), partition("zz")})]
    assert [e.partition for m in opened for e in base.read(m)] == [partition("b")]
    assert [e.partition for e in base.live({partition("c")}.__contains__, {partition("c")})] == [partition("c")]
    assert not base.may_hold(base.manifests[0], set())
    assert all(base.may_hold(m, {partition(None)}) for m in base.manifests)

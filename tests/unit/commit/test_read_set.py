"""Reads: a commit fails when the rows from which it was computed have changed, and only then."""

import pytest

from paimon_core.commit.base import Base
from paimon_core.commit.read_set import Reads
from paimon_core.errors import ReadOutdated
from tests.support.commits import commit
from tests.support.fake_tables import append, fake_file, fake_table, message, partition


def reads(context, of="a"):
    return Reads(context.snapshots.latest(), partition(of).__eq__)


def check(context, read):
    read.check(Base(context, context.snapshots.latest()))


def test_an_append_to_the_partition_outdates_the_read():
    context = fake_table()
    append(context)
    read, other = reads(context), reads(context, of="b")
    check(context, read)
    append(context, user="rival")
    append(context, user="later")
    with pytest.raises(ReadOutdated, match=r"from snapshot 1, but snapshot 2 \(append commit of user rival\) changed"):
        check(context, read)
    check(context, other)


def test_the_first_snapshot_outdates_the_read_of_a_table_without_snapshots():
    context = fake_table()
    read = reads(context)
    append(context)
    with pytest.raises(ReadOutdated, match="from snapshot 0, but snapshot 1"):
        check(context, read)


@pytest.mark.parametrize("options", [{}, {"record-level.expire-time": "1 d", "record-level.time-field": "v"}])
def test_a_compaction_outdates_the_read_only_when_it_may_drop_rows(options):
    context = fake_table(**options)
    old = fake_file(context)
    append(context, old)
    read = reads(context)
    commit([message(context, before=(old,), after=(fake_file(context, level=5),))], context=context, user="c")
    if not options:
        check(context, read)
        return
    with pytest.raises(ReadOutdated, match="compaction of user c"):
        check(context, read)


def test_a_snapshot_that_has_expired_or_was_rolled_back_outdates_the_read():
    context = fake_table()
    append(context)
    read = reads(context)
    append(context)
    late = reads(context)
    context.snapshots.delete([1])
    with pytest.raises(ReadOutdated, match="expired or was rolled back"):
        check(context, read)
    with pytest.raises(ReadOutdated, match="expired or was rolled back"):
        late.check(Base(context, None))


def test_one_changed_partition_of_several_outdates_the_read():
    context = fake_table()
    read = reads(context)
    commit([message(context, fake_file(context, of=p), of=p) for p in ("a", "b")], context=context, user="rival")
    with pytest.raises(ReadOutdated, match="changed rows of the same partitions"):
        check(context, read)


def test_a_read_of_properties_is_outdated_by_any_commit():
    context = fake_table()
    append(context)
    read = Reads(context.snapshots.latest(), partition("a").__eq__, any_commit=True)
    check(context, read)
    commit([message(context, fake_file(context, of="b"), of="b")], context=context, user="rival")
    with pytest.raises(ReadOutdated, match="not the latest snapshot any more"):
        check(context, read)

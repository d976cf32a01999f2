"""Partition expiry: selects partitions by value or by update, drops them exactly once, and what prevents it."""

from __future__ import annotations

import dataclasses
import datetime
import time

import pyarrow as pa
import pytest

from paimon_core.codec.binary_row.rows import encode_row
from paimon_core.errors import CommitConflict, CommitStateUnknown, InvalidOption, InvalidRequest, PlanOutdated
from paimon_core.maintain.expiry.partitions import apply_partition_expiry, is_due_after_write, plan_partition_expiry
from paimon_core.maintain.planning.plan import Plan
from paimon_core.metadata.context import TableContext
from paimon_core.metadata.manifests.entry_columns import EntryColumns
from paimon_core.metadata.rules.table_rules import check_table
from paimon_core.metadata.snapshot import CommitKind
from paimon_core.metadata.stores import live_manifests
from paimon_core.metadata.times.local_time import epoch_millis
from paimon_core.metadata.times.partition_time import is_expired_by_value
from paimon_core.schema import new_schema
from paimon_core.storage.fsspec_storage import FsspecStorage
from tests.support.clones import clone
from tests.support.commits import commit
from tests.support.fake_tables import (
    check_whole,
    expire_all,
    fake_file,
    fake_table,
    message,
    partition,
    reopened,
)
from tests.support.faulty_storage import Died, FaultyStorage, Outcome

DAY = 86_400_000
NOW = int(datetime.datetime(2024, 2, 1, 12, 0).timestamp() * 1000)
"""Noon of a day, local time."""
VALUES = ("2024-01-01", "2024-01-20", "2024-01-31", "2024-02-01", "soon", None)


def table_of(*values, **options):
    """One file in each of these partitions."""
    context = fake_table(**{"partition.expiration-time": "7 d", **options})
    messages = [message(context, fake_file(context, of=value), of=value) for value in values]
    commit(messages, context=context, user="u", now_millis=1)
    return context


def held(context):
    snapshot = context.snapshots.latest()
    return sorted({context.partition_path(e.partition) for e in context.manifests.entries_of(snapshot)})


def planned(context, **kwargs):
    return [s.removeprefix("partition p=") for s in plan_partition_expiry(context, now_millis=NOW, **kwargs).subjects]


@pytest.mark.parametrize("joined", [0, 100_000])
@pytest.mark.parametrize("strategy", ["values-time", "update-time"])
def test_a_plan_creates_the_entries_of_expired_partitions_only(strategy, joined, monkeypatch):
    context = table_of(*VALUES)
    more = [message(context, fake_file(context, of=value), of=value) for value in VALUES[:3]]
    commit(more, context=context, user="u", identifier=2, now_millis=2)
    expected = plan_partition_expiry(context, now_millis=NOW, strategy=strategy)
    monkeypatch.setattr(live_manifests, "JOINED_FILES", joined)
    created = []
    real = EntryColumns.entries

    def counted(self, at=slice(None)):
        created.extend(found := real(self, at))
        return found

    monkeypatch.setattr(EntryColumns, "entries", counted)
    plan = plan_partition_expiry(context, now_millis=NOW, strategy=strategy)
    assert (plan.files, plan.subjects, plan.protected) == (expected.files, expected.subjects, expected.protected)
    assert len(created) == len(plan.files)
    created.clear()
    assert plan_partition_expiry(context, now_millis=0, strategy=strategy, limit=0).files == ()
    assert created == []


# -- by value


def test_partitions_older_than_their_lifetime_are_dropped():
    context = table_of(*VALUES)
    plan = plan_partition_expiry(context, now_millis=NOW)
    assert plan.subjects == ("partition p=2024-01-01", "partition p=2024-01-20")
    assert (len(plan.files), plan.size_bytes) == (2, 8)
    assert [(p.what, p.by.split(";")[0]) for p in plan.protected] == [
        ("partition p=__DEFAULT_PARTITION__", "a null value has no time"),
        ("partition p=soon", "'soon' is not a time of the form 'yyyy-M-d[ H:m:s]'"),
    ]
    report = apply_partition_expiry(context, Plan.from_bytes(plan.to_bytes()))
    assert (report.dropped, report.snapshots, report.data_files) == (("p=2024-01-01", "p=2024-01-20"), (2,), 2)
    assert held(context) == ["p=2024-01-31", "p=2024-02-01", "p=__DEFAULT_PARTITION__", "p=soon"]
    assert context.snapshots.latest().commit_kind is CommitKind.OVERWRITE
    check_whole(context)
    assert expire_all(context).removed.data_files == 2


@pytest.mark.parametrize(
    ("millis", "want"),
    [(12 * 3_600_000 - 1, ["2024-01-31", "2024-02-01"]), (12 * 3_600_000, ["2024-01-31"]), (36 * 3_600_000, [])],
)
def test_a_partition_expires_after_its_lifetime_and_not_exactly_at_it(millis, want):
    context = table_of("2024-02-01", "2024-01-31")
    assert planned(context, lifetime_millis=millis) == want


def test_the_time_may_come_from_several_columns_and_a_formatter():
    schema = new_schema(
        pa.schema([("dt", pa.string()), ("dt1", pa.int32()), ("v", pa.int32())]),
        primary_key=[],
        partition_by=["dt", "dt1"],
        options={
            "partition.expiration-time": "1 h",
            "partition.timestamp-pattern": "$dt $dt1:00",
            "partition.timestamp-formatter": "yyyyMMdd H:mm",
        },
    )
    context = TableContext.of("db.t", FsspecStorage("memory"), f"/pattern-{time.time_ns()}/t", schema)
    context.schemas.publish(schema)
    check_table(context)
    types = [f.type for f in schema.partition_fields]
    rows = [encode_row([day, hour], types) for day, hour in (("20240201", 9), ("20240201", 11), ("20240201", None))]
    files = [dataclasses.replace(fake_file_of(context, row), level=0) for row in rows]
    messages = [
        dataclasses.replace(message(context, f, total=-1), partition=r) for f, r in zip(files, rows, strict=True)
    ]
    commit(messages, context=context, user="u")
    plan = plan_partition_expiry(context, now_millis=NOW)
    assert plan.subjects == ("partition dt=20240201/dt1=9",)
    assert [p.by.split(";")[0] for p in plan.protected] == ["a null value has no time"]


def fake_file_of(context, row):
    unplaced = fake_table(context.storage, keyed=False)
    made = fake_file(unplaced)
    place = context.paths.data_file(context.partition_path(row), 0, made.file_name)
    context.storage.write(place, b"rows")
    return made


def test_at_most_the_limit_of_partitions_expires_in_the_order_of_their_values():
    context = table_of("2024-01-03", "2024-01-01", "2024-01-02", **{"partition.expiration-max-num": "2"})
    plan = plan_partition_expiry(context, now_millis=NOW)
    assert plan.subjects == ("partition p=2024-01-01", "partition p=2024-01-02")
    assert [p.what for p in plan.protected] == ["partition p=2024-01-03"]
    assert planned(context, limit=1) == ["2024-01-01"]


@pytest.mark.parametrize(
    ("options", "arguments"), [({"partition.expiration-max-num": "0"}, {}), ({}, {"limit": 0})], ids=["option", "call"]
)
def test_a_limit_of_zero_expires_no_partition(options, arguments):
    plan = plan_partition_expiry(table_of("2024-01-01", **options), now_millis=NOW, **arguments)
    assert plan.is_empty
    assert [(p.what, p.by) for p in plan.protected] == [("partition p=2024-01-01", "the limit, 0: nothing expires")]


def test_a_negative_limit_is_refused():
    with pytest.raises(
        InvalidRequest, match=r"limit \(option partition.expiration-max-num\) must be 0 or more, not -1"
    ):
        plan_partition_expiry(table_of("2024-01-01"), now_millis=NOW, limit=-1)


def test_each_batch_is_a_separate_commit():
    context = table_of("2024-01-01", "2024-01-02", "2024-01-03", **{"partition.expiration-batch-size": "2"})
    report = apply_partition_expiry(context, plan_partition_expiry(context, now_millis=NOW))
    assert report.snapshots == (2, 3)
    assert held(context) == []


def test_a_comma_in_a_value_expires_no_other_partition():
    """Bug #9277."""
    context = table_of("2024-01-01", "2024-01-01,x", **{"partition.timestamp-pattern": "$p"})
    assert planned(context) == ["2024-01-01"]


# -- by update


def test_by_update_time_the_newest_file_counts_and_later_rows_are_kept():
    context = table_of("a", "b")
    later = int(time.time() * 1000) + 8 * DAY
    plan = plan_partition_expiry(context, now_millis=later, strategy="update-time")
    assert plan.subjects == ("partition p=a", "partition p=b")
    assert plan_partition_expiry(context, now_millis=later - 2 * DAY, strategy="update-time").is_empty
    new = fake_file(context, of="a")
    commit([message(context, new, of="a")], context=context, user="u")
    apply_partition_expiry(context, plan)
    entries = context.manifests.entries_of(context.snapshots.latest())
    assert [e.file.file_name for e in entries] == [new.file_name]


def test_by_update_time_a_partition_expires_after_its_lifetime_and_not_exactly_at_it():
    context = fake_table()
    file = dataclasses.replace(fake_file(context), extra_files=("x.index",))
    commit([message(context, file)], context=context, user="u")
    over = epoch_millis(file.creation_time_millis) + 1000
    at, after = (
        plan_partition_expiry(context, now_millis=now, lifetime_millis=1000, strategy="update-time")
        for now in (over, over + 1)
    )
    assert at.is_empty
    assert after.subjects == ("partition p=a",)
    assert [f.size for f in after.files] == [4, 0]


def test_by_update_time_a_partition_with_a_file_without_a_time_is_protected():
    context = fake_table(**{"partition.expiration-time": "7 d", "partition.expiration-strategy": "update-time"})
    dateless = dataclasses.replace(fake_file(context), creation_time_millis=None)
    commit([message(context, dateless)], context=context, user="u")
    plan = plan_partition_expiry(context, now_millis=int(time.time() * 1000) + 8 * DAY)
    assert plan.is_empty
    assert [p.by for p in plan.protected] == ["one of its files has no creation time"]


def test_by_update_time_a_concurrent_compaction_is_a_conflict():
    """Bugs #6687, #3817, #2425: the planned files were rewritten; no new file is lost."""
    context = table_of("a")
    (entry,) = context.manifests.entries_of(context.snapshots.latest())
    plan = plan_partition_expiry(context, now_millis=int(time.time() * 1000) + 8 * DAY, strategy="update-time")
    storage = FaultyStorage(context.storage)
    done = fake_file(context, level=5)

    def compacts():
        commit([message(context, before=(entry.file,), after=(done,))], context=context, user="c")

    storage.before("create_exclusive", "snapshot-2", compacts)
    with pytest.raises(CommitConflict, match="no longer in the table"):
        apply_partition_expiry(reopened(context, storage), plan)
    assert [e.file.file_name for e in context.manifests.entries_of(context.snapshots.latest())] == [done.file_name]


def test_by_value_the_files_of_a_concurrent_compaction_are_dropped_too():
    context = table_of("2024-01-01")
    (entry,) = context.manifests.entries_of(context.snapshots.latest())
    plan = plan_partition_expiry(context, now_millis=NOW)
    done = fake_file(context, of="2024-01-01", level=5)
    storage = FaultyStorage(context.storage)

    def compacts():
        one = message(context, of="2024-01-01", before=(entry.file,), after=(done,))
        commit([one], context=context, user="c")

    storage.before("create_exclusive", "snapshot-2", compacts)
    assert apply_partition_expiry(reopened(context, storage), plan).snapshots == (3,)
    assert held(context) == []


# -- exactly once


def test_a_plan_that_is_applied_twice_commits_once():
    context = table_of("2024-01-01", "2024-01-31")
    plan = plan_partition_expiry(context, now_millis=NOW)
    assert apply_partition_expiry(context, plan).snapshots == (2,)
    commit([message(context, fake_file(context, of="2024-01-01"), of="2024-01-01")], context=context, user="late")
    assert apply_partition_expiry(context, plan).snapshots == (2,)
    assert held(context) == ["p=2024-01-01", "p=2024-01-31"]


def test_a_plan_is_refused_after_the_table_changed():
    context = table_of("2024-01-01")
    plan = plan_partition_expiry(context, now_millis=NOW)
    context.tags.create("t", context.snapshots.read(1))
    with pytest.raises(PlanOutdated, match="tag-t"):
        apply_partition_expiry(context, plan)
    assert apply_partition_expiry(context, plan_partition_expiry(context, now_millis=NOW - 9 * 365 * DAY)).dropped == ()


@pytest.mark.parametrize("strategy", ["values-time", "update-time"])
@pytest.mark.parametrize("after", [False, True])
def test_a_plan_that_crashed_at_any_call_can_be_applied_again(strategy, after):
    deaths = 0
    start = table_of("2024-01-01", "2024-01-02", "2024-01-03", **{"partition.expiration-batch-size": "2"})
    for die_at in range(60):
        context = clone(start)
        now = NOW if strategy == "values-time" else int(time.time() * 1000) + 8 * DAY
        plan = plan_partition_expiry(context, now_millis=now, strategy=strategy)
        storage = FaultyStorage(context.storage, die_at=die_at, die_after=after)
        try:
            apply_partition_expiry(reopened(context, storage), plan)
        except Died:
            deaths += 1
            check_whole(context)
        report = apply_partition_expiry(context, plan)
        assert (held(context), context.snapshots.latest_id()) == ([], 3)
        assert strategy == "update-time" or report.snapshots == (2, 3)
        check_whole(context)
        if not storage.dead:
            break
    assert deaths == die_at >= 8


def test_after_an_unknown_outcome_the_same_plan_can_be_applied_again():
    context = table_of("2024-01-01")
    plan = plan_partition_expiry(context, now_millis=NOW)
    storage = FaultyStorage(context.storage)
    storage.on("create_exclusive", "snapshot-2", *[Outcome.LOSE] * 9)
    storage.on("read", "snapshot-2", *[Outcome.FAIL] * 20)
    with pytest.raises(CommitStateUnknown):
        apply_partition_expiry(reopened(context, storage), plan)
    assert apply_partition_expiry(context, plan).snapshots == (2,)
    check_whole(context)


# -- options


@pytest.mark.parametrize(
    ("options", "due"),
    [
        ({}, False),
        ({"partition.expiration-time": "1 d"}, False),
        ({"partition.expiration-time": "1 d", "partition.expiration-check-interval": "0 s"}, True),
        ({"partition.expiration-time": "1 d", "end-input.check-partition-expire": "true"}, True),
    ],
)
def test_options_decide_whether_a_write_checks_for_expired_partitions(options, due):
    assert is_due_after_write(fake_table(**options)) is due


@pytest.mark.parametrize(
    "options",
    [
        {"partition.expiration-max-num": "7"},
        {"end-input.check-partition-expire": "true"},
        {"partition.expiration-time": "1 d", "partition.timestamp-formatter": "MMM"},
        {"partition.expiration-time": "1 d", "partition.timestamp-pattern": "$day"},
    ],
)
def test_options_without_effect_are_refused(options):
    with pytest.raises(InvalidRequest):
        check_table(fake_table(**options))


def test_an_invalid_formatter_is_refused_before_any_change():
    context = table_of("2024-01-01", **{"partition.timestamp-formatter": "yyyy-MM-dd]"})
    with pytest.raises(InvalidOption, match="has no matching"):
        plan_partition_expiry(context, now_millis=NOW)


@pytest.mark.parametrize("call", [{"strategy": "by-mood"}, {}])
def test_an_unknown_strategy_and_a_missing_lifetime_are_refused_by_name(call):
    with pytest.raises(InvalidRequest, match=r"by-mood|partition\.expiration-time"):
        plan_partition_expiry(fake_table(), now_millis=NOW, **call)


def test_a_compaction_of_an_expired_partition_is_a_conflict_that_says_so():
    """Bugs #3340, #3945: a compaction of a partition that was dropped says why, and what to do."""
    context = table_of("2024-01-01")
    (entry,) = context.manifests.entries_of(context.snapshots.latest())
    apply_partition_expiry(context, plan_partition_expiry(context, now_millis=NOW))
    done = message(context, of="2024-01-01", before=(entry.file,), after=(fake_file(context, level=5),))
    with pytest.raises(CommitConflict, match="p=2024-01-01 has expired"):
        commit([done], context=context, user="c")


def test_is_expired_by_value_compares_the_time_in_the_partition_values():
    context = table_of(*VALUES)
    assert is_expired_by_value(context, partition("2024-01-01"), NOW)
    assert not is_expired_by_value(context, partition("2024-01-31"), NOW)
    assert not is_expired_by_value(context, partition(None), NOW)
    assert not is_expired_by_value(fake_table(), partition("2024-01-01"), NOW)

"""Tags, branches, rollback and time travel through the table handle."""

import datetime

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.errors import BranchNotFound
from paimon_core.maintain.planning.plan import Plan

SCHEMA = pa.schema([("k", pa.int64()), ("v", pa.int64())])
QUIET = {"bucket": "1", "write-only": "true"}


@pytest.fixture
def catalog(tmp_path):
    catalog = paimon.open_catalog(f"memory://{tmp_path}")
    catalog.create_database("db")
    return catalog


@pytest.fixture
def table(catalog):
    return catalog.create_table("db.t", SCHEMA, primary_key=["k"], options=QUIET)


def put(table, **values):
    """Write rows k = v, each key a letter."""
    keys, vs = [ord(k) for k in values], list(values.values())
    return table.write(pa.table([keys, vs], schema=SCHEMA))


def content(table):
    return {chr(r["k"]): r["v"] for r in table.scan().to_arrow().to_pylist()}


# -- tags


def test_tags_are_made_from_ids_and_times(table):
    first, second = put(table, a=1), put(table, a=2)
    assert table.tags.create("id", first.id).snapshot == first
    assert table.tags.create("time", time=second.time_millis).snapshot.time_millis == second.time_millis
    assert table.tags.create("always", time=datetime.datetime(2001, 1, 1)).snapshot == first
    assert table.tags.create("latest").snapshot == second
    with pytest.raises(paimon.SnapshotNotFound, match="at or after"):
        table.tags.create("later", time=second.time_millis + 10**6)
    with pytest.raises(paimon.SnapshotNotFound, match="watermark at or after 5"):
        table.tags.create("wet", watermark=5)
    with pytest.raises(paimon.InvalidRequest, match="at most one of snapshot, time and watermark"):
        table.tags.create("both", 1, time=5)
    with pytest.raises(paimon.InvalidRequest, match="digits only"):
        table.tags.create("7")
    with pytest.raises(paimon.InvalidRequest, match="snapshot must be a whole number"):
        table.tags.create("text", "1")


def test_tags_are_renamed_replaced_and_expire(table):
    put(table, a=1)
    table.tags.create("old", keep_for=datetime.timedelta(hours=1))
    assert table.tags.rename("old", "new").expires_millis is not None
    put(table, a=2)
    assert table.tags.replace("new").snapshot.id == 2
    assert table.tags.replace("new", 1, keep_for=datetime.timedelta(hours=1)).retained_millis == 3_600_000
    assert content(table.at(tag="new")) == {"a": 1}
    assert table.tags.expire() == ()
    assert table.tags.expire(older_than=datetime.timedelta()) in ((), ("new",))
    with pytest.raises(paimon.TagNotFound):
        table.tags.replace("none")


def test_automatic_tags_are_made_by_commits(catalog):
    options = {"bucket": "1", "tag.automatic-creation": "process-time", "tag.creation-period": "hourly"}
    table = catalog.create_table("db.auto", SCHEMA, primary_key=["k"], options=options)
    put(table, a=1)
    (tag,) = table.tags.list()
    assert tag.snapshot.id == 1
    assert table.tags.create_due() == ()
    batch = catalog.create_table(
        "db.batch", SCHEMA, primary_key=["k"], options={"bucket": "1", "tag.automatic-creation": "batch"}
    )
    put(batch, a=1)
    put(batch, a=2)
    (tag,) = batch.tags.list()
    assert (tag.name[:12], tag.snapshot.id) == ("batch-write-", 2)


def test_a_write_only_table_leaves_automatic_tags_to_others(catalog):
    options = {**QUIET, "tag.automatic-creation": "process-time"}
    table = catalog.create_table("db.auto", SCHEMA, primary_key=["k"], options=options)
    put(table, a=1)
    assert table.tags.list() == []
    assert len(table.tags.create_due()) == 1


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("tag.automatic-creation", "daily"),
        ("tag.creation-period", "weekly"),
        ("tag.creation-period-duration", "0 s"),
        ("tag.period-formatter", "dashes"),
        ("tag.num-retained-max", "0"),
        ("tag.batch.customized-name", "a/b"),
        ("sink.process-time-zone", "Mars/Olympus"),
        ("sink.watermark-time-zone", ""),
        ("tag.callbacks", "com.x.Y"),
        ("scan.fallback-branch", "x"),
        ("branch", "x"),
    ],
)
def test_options_that_would_not_be_obeyed_are_refused(catalog, option, value):
    with pytest.raises(paimon.InvalidRequest, match=option):
        catalog.create_table("db.x", SCHEMA, primary_key=["k"], options={"bucket": "1", option: value})


def test_a_delay_as_long_as_the_period_is_refused(catalog):
    options = {"bucket": "1", "tag.automatic-creation": "watermark", "tag.creation-delay": "1 d"}
    with pytest.raises(paimon.InvalidRequest, match=r"tag\.creation-delay \(86400000 ms\) must be less"):
        catalog.create_table("db.x", SCHEMA, primary_key=["k"], options=options)


# -- time travel


def test_a_table_is_seen_at_a_version_or_watermark(table):
    put(table, a=1)
    put(table, a=2)
    table.tags.create("one", 1)
    assert (
        content(table.at(version="one")) == content(table.at(version=1)) == content(table.at(version="1")) == {"a": 1}
    )
    with pytest.raises(paimon.SnapshotNotFound, match="with a watermark at or after 0: it has snapshots 1 to 2"):
        table.at(watermark=0)
    with pytest.raises(paimon.InvalidRequest, match="exactly one of snapshot, tag, time, watermark and version"):
        table.at(tag="one", version=1)


@pytest.mark.parametrize("snapshot", [-1, 0, 3, 2**62])
def test_a_missing_snapshot_is_named_with_the_existing_range(table, snapshot):
    put(table, a=1)
    put(table, a=2)
    with pytest.raises(paimon.SnapshotNotFound, match="it has snapshots 1 to 2"):
        table.at(snapshot=snapshot)


# -- rollback


def test_a_table_is_rolled_back_to_a_time(table):
    first, second = put(table, a=1), put(table, a=2)
    assert table.rollback(time=second.time_millis + 1000) == second
    assert table.rollback(time=first.time_millis).id in (1, 2)  # both may have the same millisecond
    with pytest.raises(paimon.SnapshotNotFound):
        table.rollback(time=first.time_millis - 1)
    with pytest.raises(paimon.SnapshotNotFound, match="watermark at or before 9"):
        table.rollback(watermark=9)
    with pytest.raises(paimon.InvalidRequest, match="exactly one of snapshot, tag, time and watermark"):
        table.rollback(tag="x", time=1)


def test_a_rollback_is_planned_and_applied(table):
    for value in (1, 2, 3):
        put(table, a=value)
    plan = table.maintenance.plan_rollback(snapshot=1)
    assert plan.subjects == ("snapshot 3", "snapshot 2")
    assert table.maintenance.apply(Plan.from_bytes(plan.to_bytes())).id == 1
    assert content(table) == {"a": 1}


def test_an_expired_snapshot_is_restored_by_its_id_when_it_is_tagged(table):
    for value in (1, 2, 3):
        put(table, a=value)
    table.tags.create("one", 1)
    table.expire_snapshots(keep_last=1, older_than=datetime.timedelta())
    table.rollback(snapshot=1)
    assert content(table) == {"a": 1}


# -- branches


def test_a_branch_is_written_audited_and_fast_forwarded(table):
    put(table, a=1)
    table.tags.create("base")
    table.branches.create("audit", tag="base")
    branch = table.branch("audit")
    put(branch, a=2, b=2)
    assert (content(branch), content(table)) == ({"a": 2, "b": 2}, {"a": 1})
    assert table.branches.fast_forward("audit").id == 2
    assert content(table) == {"a": 2, "b": 2}
    put(table, c=3)
    put(branch, d=4)
    with pytest.raises(paimon.CommitConflict, match="would be lost: 3 of user"):
        table.branches.fast_forward("audit")
    assert content(table) == {"a": 2, "b": 2, "c": 3}


def test_a_branch_lives_without_main(catalog):
    """Known bug apache/paimon 3787: files that a branch reads are kept, whatever happens on main."""
    options = {"bucket": "1", "num-sorted-run.compaction-trigger": "2"}
    table = catalog.create_table("db.b", SCHEMA, primary_key=["k"], options=options)
    put(table, a=1)
    table.tags.create("base")
    table.branches.create("b", tag="base")
    for value in range(2, 6):
        put(table, a=value)
    table.expire_snapshots(keep_last=1, older_than=datetime.timedelta())
    table.tags.delete("base")
    assert content(table.branch("b")) == {"a": 1}
    put(table.branch("b"), b=1)
    table.branch("b").expire_snapshots(keep_last=1, older_than=datetime.timedelta())
    assert content(table.branch("b")) == {"a": 1, "b": 1}
    assert content(table) == {"a": 5}


def test_branches_are_listed_renamed_and_deleted(table):
    put(table, a=1)
    table.branches.create("x")
    table.branches.create("y")
    table.branches.rename("x", "z")
    assert table.branches.list() == ["y", "z"]
    plan = table.maintenance.plan_branch_deletion("y")
    assert table.maintenance.apply(plan) == "y"
    table.branches.delete("z")
    assert table.branches.list() == []
    with pytest.raises(BranchNotFound):
        table.branch("z")
    with pytest.raises(BranchNotFound):
        table.maintenance.plan_branch_deletion("z")
    with pytest.raises(AttributeError, match="call branches on"):
        assert table.at(snapshot=1).branches


def test_a_tag_is_deleted_by_plan(table):
    put(table, a=1)
    table.tags.create("one")
    plan = table.maintenance.plan_tag_deletion("one")
    assert plan.sentence() == "delete-tag db.t: tag one; 0 files, 0 bytes"
    table.maintenance.apply(plan)
    assert table.tags.list() == []

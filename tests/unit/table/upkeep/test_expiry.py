"""Expiry through the table handle, with real files: plans, their application, and expiry after a write."""

from __future__ import annotations

import datetime

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.errors import InvalidOption, InvalidRequest, PlanOutdated, SnapshotNotFound
from paimon_core.maintain.planning.plan import Plan
from paimon_core.metadata import clock
from tests.support.reachable import assert_whole_and_clean

SCHEMA = pa.schema([("dt", pa.string()), ("k", pa.int64()), ("v", pa.string())])
KEYED = {"primary_key": ["dt", "k"], "partition_by": ["dt"]}
NOW = datetime.timedelta(0)
LASTING = {"changelog.num-retained.min": "1", "changelog.num-retained.max": "5", "snapshot.num-retained.max": "4"}
TODAY = datetime.date.today().isoformat()


@pytest.fixture
def catalog(tmp_path):
    catalog = paimon.open_catalog(f"memory://{tmp_path}")
    catalog.create_database("db")
    return catalog


def make(catalog, name="t", **options):
    return catalog.create_table(f"db.{name}", SCHEMA, options={"bucket": "1", **options}, **KEYED)


def rows(*values):
    return pa.table([list(c) for c in zip(*values, strict=True)], schema=SCHEMA)


def write(table, count, day=TODAY):
    for number in range(count):
        table.write(rows((day, number, f"{number}")))


def test_plans_are_created_serialized_and_applied(catalog):
    table = make(catalog, **{"write-only": "true"})
    write(table, 4)
    plan = table.maintenance.plan_snapshot_expiry(keep_max=2)
    assert plan.subjects == ("snapshot 1", "snapshot 2")
    report = table.maintenance.apply(Plan.from_bytes(plan.to_bytes()))
    assert (report.expired, table.context.snapshots.ids()) == ((1, 2), [3, 4])
    assert_whole_and_clean(table.context)
    with pytest.raises(PlanOutdated):
        table.maintenance.apply(plan)
    with pytest.raises(InvalidRequest, match="keep_last"):
        table.maintenance.plan_snapshot_expiry(keep_last=0)


def test_a_report_names_what_protects_snapshots(catalog):
    table = make(catalog, **{"write-only": "true"})
    write(table, 4)
    table.maintenance.reset_consumer("slow", 2)
    report = table.expire_snapshots(keep_max=1)
    assert (report.expired, [p.by for p in report.protected]) == ((1,), ["consumer slow"])
    assert [c.name for c in table.maintenance.consumers()] == ["slow"]
    plan = table.maintenance.plan_consumer_expiry(older_than=NOW)
    assert plan.is_empty or plan.subjects == ("consumer slow",)
    table.maintenance.reset_consumer("slow")
    assert table.expire_snapshots(keep_max=1).expired == (2, 3)


@pytest.mark.parametrize("producer", ["none", "input"])
def test_changes_outlive_their_snapshots(catalog, producer):
    options = {"changelog-producer": producer, "changelog.num-retained.min": "3", "changelog.num-retained.max": "3"}
    table = make(catalog, **options, **{"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "1"})
    told, way = [], "delta" if producer == "none" else "changelog"
    for number in range(1, 9):
        table.write(rows((TODAY, number % 3, f"{number}")))
        told.append(f"{number}")
        context = table.context
        assert len(context.snapshots.ids()) == 1
        first = (context.changelogs.ids() or context.snapshots.ids())[0]
        found = [r["v"] for r in table.changes(start=first - 1, way=way).to_arrow().to_pylist()]
        assert found == told[len(told) - len(found) :]
        assert len(found) >= min(number, 2)
        if first > 1:
            with pytest.raises(SnapshotNotFound, match="has expired"):
                table.changes()
    assert_whole_and_clean(context, clean=False)
    assert sorted(r["v"] for r in table.scan().to_arrow().to_pylist()) == ["6", "7", "8"]


def test_changelogs_expire_by_a_plan(catalog):
    table = make(catalog, **{"write-only": "true", "changelog-producer": "input", **LASTING})
    write(table, 6)
    table.expire_snapshots(keep_max=1)
    assert table.context.changelogs.ids() == [2, 3, 4, 5]
    plan = table.maintenance.plan_changelog_expiry(keep_max=3)
    assert plan.subjects == ("changelog 2", "changelog 3")
    assert table.maintenance.apply(plan).expired == (2, 3)
    assert_whole_and_clean(table.context)


@pytest.mark.parametrize(
    ("options", "left"),
    [
        ({}, ["2001-01-01", TODAY]),
        ({"end-input.check-partition-expire": "true"}, [TODAY]),
        ({"partition.expiration-check-interval": "0 s"}, [TODAY]),
        ({"partition.expiration-check-interval": "0 s", "write-only": "true"}, ["2001-01-01", TODAY]),
    ],
)
def test_partitions_expire_after_a_write_where_options_say_so(catalog, options, left):
    table = make(catalog, **{"partition.expiration-time": "30 d", **options})
    table.write(rows(("2001-01-01", 1, "x"), (TODAY, 1, "y")))
    assert sorted(r["dt"] for r in table.scan().to_arrow().to_pylist()) == left


def test_partitions_expire_by_a_plan(catalog):
    table = make(catalog, **{"write-only": "true"})
    table.write(rows(("2001-01-01", 1, "x"), (TODAY, 1, "y")))
    with pytest.raises(InvalidRequest, match=r"partition\.expiration-time"):
        table.maintenance.plan_partition_expiry()
    plan = table.maintenance.plan_partition_expiry(older_than=datetime.timedelta(days=30))
    assert (plan.subjects, len(plan.files)) == (("partition dt=2001-01-01",), 1)
    assert table.maintenance.apply(plan).dropped == ("dt=2001-01-01",)
    assert [r["v"] for r in table.scan().to_arrow().to_pylist()] == ["y"]


def test_consumers_expire_after_a_write(catalog):
    table = make(catalog, **{"consumer.expiration-time": "1 ms"})
    table.maintenance.reset_consumer("c", 1)
    seen = table.maintenance.consumers()[0].modified_millis
    while (table.write(rows((TODAY, 1, "x"))) and table.context.consumers.files()) and seen:
        pass
    assert table.maintenance.consumers() == []


def test_a_table_that_only_writes_expires_nothing(catalog):
    """Known bug apache/paimon 5391: a write-only job leaves all maintenance to other jobs."""
    options = {"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "1", "consumer.expiration-time": "1 ms"}
    table = make(catalog, **{"write-only": "true", **options})
    write(table, 3)
    assert table.context.snapshots.ids() == [1, 2, 3]


def test_a_partition_is_marked_done(catalog):
    table = make(catalog)
    write(table, 1)
    (path,) = table.maintenance.mark_done({"dt": TODAY})
    assert path.endswith(f"/dt={TODAY}/_SUCCESS")
    with pytest.raises(InvalidRequest, match="one or more partitions"):
        table.maintenance.mark_done()


@pytest.mark.parametrize(
    "options",
    [
        {"snapshot.expire.execution-mode": "async"},
        {"partition.mark-done-action": "done-partition"},
        {"changelog.num-retained.min": "0"},
        {"partition.expiration-time": "1 fortnight"},
        {"partition.expiration-time": "1 d", "partition.expiration-strategy": "by-mood"},
        {"consumer.expiration-time": "0 s"},
    ],
)
def test_values_that_are_not_obeyed_are_refused(catalog, options):
    with pytest.raises(InvalidOption):
        make(catalog, **options)


def test_bounds_that_contradict_each_other_are_refused(catalog):
    for kind in ("snapshot", "changelog"):
        with pytest.raises(InvalidRequest, match=f"{kind}.num-retained.min = 5 is more than"):
            make(catalog, **{f"{kind}.num-retained.min": "5", f"{kind}.num-retained.max": "4"})


def test_no_expiry_at_all(catalog):
    table = make(
        catalog, **{"snapshot.expire.limit": "0", "snapshot.num-retained.min": "1", "snapshot.time-retained": "0 s"}
    )
    write(table, 3)
    assert table.context.snapshots.ids()[0] == 1
    assert table.expire_snapshots().expired == ()


def test_without_an_age_a_commit_of_the_present_millisecond_expires_too(catalog, monkeypatch):
    table = make(catalog)
    now = clock.now_millis()
    monkeypatch.setattr(clock, "now_millis", lambda now_millis=None: now)
    write(table, 3)
    assert table.expire_snapshots(keep_last=1, older_than=NOW, dry_run=True).expired == (1, 2)
    assert table.expire_snapshots(keep_last=1, older_than=datetime.timedelta(milliseconds=1)).expired == ()
    assert table.expire_snapshots(keep_last=1, older_than=NOW).expired == (1, 2)

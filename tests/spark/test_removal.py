"""Clean-up by Spark tasks has the same result as without them, and raises the same errors."""

import datetime

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.errors import CorruptTable, InvalidRequest
from paimon_core.maintain.orphans import removal as orphans
from paimon_core.spark import apply_spark, plan_orphan_removal_spark
from paimon_core.spark.removal import SparkExecutor
from tests.support.orphan_tables import three_days_on

YEAR = datetime.timedelta(days=365)


@pytest.fixture
def table(warehouse):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    schema = pa.schema([("p", pa.string()), ("k", pa.int64())])
    table = catalog.create_table(
        "db.t", schema, primary_key=["p", "k"], partition_by=["p"], options={"bucket": "2", "write-only": "true"}
    )
    for number in range(3):
        table.write(pa.table({"p": ["a", "b", "c"], "k": [number] * 3}, schema))
    table.tags.create("kept", snapshot=1)
    table.branches.create("side", tag="kept")
    with table.writer() as writer:
        writer.write(pa.table({"p": ["a", "z"], "k": [9, 9]}, schema))
        writer.flush()
    return table


def files(table):
    storage = table.context.storage
    return {f.path: storage.read(f.path) for f in storage.walk(table.location) if "/quarantine/" not in f.path}


def test_a_plan_lists_the_same_and_apply_can_be_undone(spark, table):
    executor = SparkExecutor(spark, directories_per_task=2, manifests_per_task=1, files_per_task=1)
    later = three_days_on()
    before = files(table)
    alone = orphans.plan_orphan_removal(table.context, now_millis=later)
    plan = orphans.plan_orphan_removal(table.context, now_millis=later, executor=executor)
    assert len(plan.files) == 2
    assert sorted(plan.files, key=str) == sorted(alone.files, key=str)
    assert sorted(plan.protected, key=str) == sorted(alone.protected, key=str)
    report = apply_spark(spark, table, plan)
    assert set(before) - set(files(table)) == {f"{table.location}/{name}" for name in report.removed}
    assert len(report.removed) == 2
    assert report.kept == ()
    assert table.maintenance.check(deep=True).errors == ()
    table.maintenance.undo(report.quarantine)
    assert files(table) == before


def test_nothing_is_planned_when_a_manifest_is_gone(spark, warehouse, table):
    live = table.context.manifests.manifests_of(table.latest_snapshot())[0].file_name
    table.context.storage.delete([table.context.paths.manifest(live)])
    context = paimon.open_catalog(warehouse).table("db.t").context  # with empty caches
    with pytest.raises(CorruptTable, match=f"{live} is missing"):
        orphans.plan_orphan_removal(context, now_millis=three_days_on(), executor=SparkExecutor(spark))


def test_young_files_stay_and_files_can_be_deleted_at_once(spark, table):
    assert plan_orphan_removal_spark(spark, table, older_than=YEAR).is_empty
    plan = orphans.plan_orphan_removal(table.context, now_millis=three_days_on(), mode="delete")
    assert len(apply_spark(spark, table, plan).removed) == 2
    assert not {f.path for f in plan.files} & set(files(table))


def test_an_expiry_deletes_what_it_planned(spark, table):
    table.branches.delete("side")
    table.compact(full=True)
    plan = table.maintenance.plan_snapshot_expiry(keep_last=1, older_than=datetime.timedelta())
    assert apply_spark(spark, table, plan).expired == (1, 2, 3)
    assert len(plan.files) > 4
    assert not {f.path for f in plan.files} & set(files(table))
    assert table.maintenance.check(deep=True).errors == ()
    assert table.at(tag="kept").scan().count() == 3


def test_other_plans_are_refused(spark, table):
    plan = table.maintenance.plan_rollback(snapshot=1)
    with pytest.raises(InvalidRequest, match="apply_spark applies plans to expire-snapshots, purge-quarantine"):
        apply_spark(spark, table, plan)


def test_a_file_that_is_gone_is_not_told_as_moved(table):
    one, other = (f.path for f in orphans.plan_orphan_removal(table.context, now_millis=three_days_on()).files)
    table.context.storage.delete([one])
    moved = SparkExecutor(None).move(table.context, [(one, f"{one}.moved"), (other, f"{other}.moved")])
    assert moved == [False, True]

"""table.maintenance: plans and their application through the table handle."""

from __future__ import annotations

import dataclasses
import datetime

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.errors import InvalidRequest, NotFound
from paimon_core.table.upkeep.maintenance import APPLY

SCHEMA = pa.schema([("k", pa.int64()), ("v", pa.string())])
NOTHING = datetime.timedelta(0)
SOON = datetime.timedelta(milliseconds=1)


@pytest.fixture
def table(tmp_path):
    catalog = paimon.open_catalog(f"memory://{tmp_path}")
    catalog.create_database("db")
    table = catalog.create_table("db.t", SCHEMA, primary_key=["k"], options={"bucket": "1", "write-only": "true"})
    for number in range(3):
        table.write(pa.table({"k": [number], "v": ["x"]}, schema=SCHEMA))
    return table


def leave(table):
    with table.writer() as writer:
        writer.write(pa.table({"k": [9], "v": ["lost"]}, schema=SCHEMA))
        return writer.flush()


def test_orphans_are_put_aside_and_brought_back(table):
    messages = leave(table)
    maintenance = table.maintenance
    assert maintenance.plan_orphan_removal().is_empty
    while not (plan := maintenance.plan_orphan_removal(older_than=SOON)).files:
        pass
    report = maintenance.apply(plan)
    assert len(report.removed) == 1
    assert [q.id for q in maintenance.quarantines()] == [report.quarantine]
    with pytest.raises(paimon.CommitConflict, match="deleted"):
        table.commit(messages)
    assert len(maintenance.undo(report.quarantine).restored) == 1
    assert table.commit(messages) is not None
    assert table.scan().to_arrow().num_rows == 4
    with pytest.raises(NotFound):
        maintenance.undo(report.quarantine)


def test_a_quarantine_is_purged_when_it_is_old(table):
    leave(table)
    maintenance = table.maintenance
    while not (plan := maintenance.plan_orphan_removal(older_than=SOON)).files:
        pass
    maintenance.apply(plan)
    assert maintenance.plan_quarantine_purge().is_empty
    assert len(maintenance.apply(maintenance.plan_quarantine_purge(older_than=NOTHING))) == 1
    assert maintenance.quarantines() == []


@pytest.mark.parametrize("age", [NOTHING, datetime.timedelta(seconds=-1), 3, None])
def test_an_invalid_age_is_refused(table, age):
    with pytest.raises(InvalidRequest, match="older_than"):
        table.maintenance.plan_orphan_removal(older_than=age)


def test_a_plan_of_another_table_or_of_nothing_known_is_refused(table):
    """Known bug apache/paimon 4961: a clean-up without a table name removed files of the whole database."""
    plan = table.maintenance.plan_orphan_removal()
    for wrong in (dataclasses.replace(plan, table="db.other"), dataclasses.replace(plan, operation="x"), None, "x"):
        with pytest.raises(InvalidRequest):
            table.maintenance.apply(wrong)
    assert table.maintenance.apply(plan).removed == ()
    assert plan.operation in APPLY


def test_missing_files_hints_and_manifests(table):
    (entry, *_) = table.context.manifests.entries_of(table.latest_snapshot())
    path = table.context.paths.data_file("", 0, entry.file.file_name)
    maintenance = table.maintenance
    made = maintenance.compact_manifests()
    assert made.commit_kind == "COMPACT"
    assert maintenance.compact_manifests() is None
    table.context.storage.delete([path])
    report = maintenance.apply(maintenance.plan_missing_removal())
    assert report.rows == 1
    assert table.scan().to_arrow().num_rows == 2
    table.context.storage.overwrite(table.context.paths.hint("LATEST"), b"1")
    assert [r.now for r in maintenance.repair_hints().repaired] == ["5", "1"]


def test_a_dropped_table_is_neither_clean_nor_expired(tmp_path):
    catalog = paimon.open_catalog(f"memory://{tmp_path}")
    catalog.create_database("db")
    table = catalog.create_table("db.t", SCHEMA, primary_key=["k"], options={"bucket": "1"})
    assert table.maintenance.check().is_clean
    assert table.expire_snapshots().expired == ()
    table.write(pa.table({"k": [1], "v": ["x"]}, schema=SCHEMA))
    table.branches.create("b")
    branch = table.branch("b")
    catalog.drop_table("db.t")
    for handle in (table, branch):
        for call in (handle.maintenance.check, handle.expire_snapshots):
            with pytest.raises(paimon.TableNotFound, match="was dropped"):
                call()
    catalog.create_table("db.t", SCHEMA)
    with pytest.raises(paimon.TableNotFound, match="dropped or re-created"):
        table.expire_snapshots()


def test_a_table_that_lost_its_schema_is_checked_all_the_same(table):
    table.context.storage.delete([table.context.paths.schema(0)])
    assert "schema 0, which is missing" in table.maintenance.check().text()


LONG = "x" * 5000


@pytest.mark.parametrize(
    "call",
    [
        lambda t, name: t.branches.delete(name),
        lambda t, name: t.maintenance.plan_branch_deletion(name),
        lambda t, name: t.branch(name),
        lambda t, name: t.maintenance.undo(name),
        lambda t, name: t.maintenance.reset_consumer(name),
        lambda t, name: t.maintenance.reset_consumer(name, 0),
        lambda t, name: t.tags.delete(name),
    ],
)
@pytest.mark.parametrize("name", [LONG, f"{LONG}/", "x" * 190])
def test_messages_do_not_repeat_a_long_name(table, call, name):
    with pytest.raises((InvalidRequest, NotFound), match="xxx") as told:
        call(table, name)
    assert len(str(told.value)) < 700


@pytest.mark.parametrize("wrong", ["yes", 1, None])
def test_without_snapshots_is_a_truth_value(table, wrong):
    with pytest.raises(InvalidRequest, match="without_snapshots must be True or False"):
        table.maintenance.plan_orphan_removal(without_snapshots=wrong)

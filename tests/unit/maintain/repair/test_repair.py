"""Repair: for each kind of damage the plan, what can be read afterwards, the check, and later commits."""

import datetime
import re
from pathlib import Path

import pytest

import paimon_core as paimon
from paimon_core.cli.catalogs.opening import opened
from paimon_core.errors import CorruptTable, PaimonError, PlanOutdated, StorageError
from paimon_core.fsck.finding import Level
from paimon_core.maintain.repair.repair import apply_repair, plan_repair
from tests.support.damages import DAMAGES, damaged_lake, rows
from tests.support.fake_tables import reopened
from tests.support.faulty_storage import FaultyStorage
from tests.support.outcomes import Outcome

ADVISED = {
    "missing snapshot": "the hint LATEST names snapshot 5, which is missing",
    "truncated data file": "but 451 are recorded: restore it, or delete it and repair again, which loses its 2 rows",
    "missing branch schema": "branch b cannot be opened .*: delete it with branches delete",
    "garbage statistics": "the statistics cannot be read .*: compute them again",
    "missing data file": "write again the rows of the missing files",
}
HINTS = ("/snapshot/LATEST", "/snapshot/EARLIEST")
NOT_CLEAN = (
    "missing data file",
    "missing bucket",
    "truncated data file",
    "missing branch schema",
)


def damaged(tmp_path, name):
    """The table with one damage, as the command opens it."""
    table = damaged_lake(tmp_path)
    DAMAGES[name][0](table)
    return opened(paimon.open_catalog(tmp_path), "db.t")


def files_of(table):
    storage, root = table.context.storage, table.context.paths.root
    return {f.path.removeprefix(root): storage.read(f.path) for f in storage.walk(root)}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_repair_makes_the_table_readable_and_writable(tmp_path, name):
    _, latest, count = DAMAGES[name]
    table = damaged(tmp_path, name)
    before = files_of(table)
    if latest is None:
        with pytest.raises(CorruptTable, match=r"no snapshot and no tag of branch main can be read.*backup"):
            table.maintenance.plan_repair()
        assert files_of(table) == before
        return
    plan = table.maintenance.plan_repair()
    assert files_of(table) == before
    assert any(map(plan.sentence().__contains__, ("nothing to do", "snapshot", "missing", "tag", "consumer", "schema")))
    advice = "; ".join(plan.arguments["advice"])
    assert re.search(ADVISED.get(name, ""), advice)
    report = table.maintenance.apply(type(plan).from_bytes(plan.to_bytes()))
    assert (report.missing.snapshot.id if report.missing else report.latest) == latest
    # Nothing is deleted: every byte is in place or in the quarantine.
    kept = files_of(table)
    for path, data in before.items():
        moved = path.removeprefix("/") in report.moved
        assert path in HINTS or kept[f"/quarantine/{report.quarantine}{path}" if moved else path] == data
    table = paimon.open_catalog(tmp_path).table("db.t")
    assert table.maintenance.plan_repair().is_empty
    if count >= 0:
        assert table.scan().count() == count
        table.write(rows(9))
        assert table.scan().count() == count + 1
        table.delete(paimon.col("k") == 9)
        assert table.scan().count() == count
    errors = [f for f in table.maintenance.check(deep=True).findings if f.level is Level.ERROR]
    assert bool(errors) == (name in NOT_CLEAN)
    if name in ("missing data file", "missing bucket"):
        table.tags.delete("two")
        table.maintenance.reset_consumer("c")
        table.expire_snapshots(keep_last=1, older_than=datetime.timedelta(0))
        assert not [f for f in table.maintenance.check(deep=True).findings if f.level is Level.ERROR]


@pytest.mark.parametrize("name", ["truncated snapshot", "truncated tag", "truncated newest schema"])
def test_moved_files_come_back(tmp_path, name):
    table = damaged(tmp_path, name)
    before = files_of(table)
    report = table.maintenance.apply(table.maintenance.plan_repair())
    table.maintenance.undo(report.quarantine)
    after = files_of(table)
    assert {p: d for p, d in after.items() if p not in HINTS} == {p: d for p, d in before.items() if p not in HINTS}


def test_a_healthy_table_needs_no_repair(tmp_path):
    assert damaged_lake(tmp_path).maintenance.plan_repair().is_empty


def test_a_plan_is_refused_when_the_damage_has_changed(tmp_path):
    table = damaged(tmp_path, "truncated snapshot")
    plan = table.maintenance.plan_repair()
    table.maintenance.apply(plan)
    with pytest.raises(PlanOutdated, match="the damage has changed since the plan was made"):
        table.maintenance.apply(plan)
    table.write(rows(9))
    with pytest.raises(PlanOutdated):
        table.maintenance.apply(plan)
    assert table.scan().count() == 7


@pytest.mark.parametrize("moment", ["before the moves", "after the moves"])
def test_a_commit_during_the_repair_is_not_lost(tmp_path, moment):
    table = damaged(tmp_path, "truncated snapshot")
    plan = table.maintenance.plan_repair()
    storage = FaultyStorage(table.context.storage)

    def commit():
        if moment == "before the moves":
            table.maintenance.apply(table.maintenance.plan_repair())
        table.write(rows(9))

    if moment == "before the moves":
        storage.before("create_exclusive", "quarantine", commit)
        with pytest.raises(PlanOutdated, match="repaired by another process"):
            apply_repair(reopened(table.context, storage), plan)
    else:
        storage.before("read", "quarantine", commit)  # the moved file is checked
        apply_repair(reopened(table.context, storage), plan)
    assert table.scan(where=paimon.col("k") == 9).count() == 1
    assert table.latest_snapshot().id == 5
    assert not [f for f in table.maintenance.check().findings if f.level is Level.ERROR]


def test_a_store_that_fails_is_no_damage(tmp_path):
    table = damaged_lake(tmp_path)
    storage = FaultyStorage(table.context.storage)
    storage.on("read", "snapshot-5", Outcome.FAIL)
    with pytest.raises(StorageError, match="injected"):
        plan_repair(reopened(table.context, storage))


def test_a_table_without_a_readable_schema_is_refused_with_what_to_do(tmp_path):
    paths = damaged_lake(tmp_path).context.paths
    for schema_id in (0, 1):
        Path(paths.schema(schema_id)).write_text('{"version":3,')
    told = "schema-0: .*No schema of table db.t can be read.*: restore this file from a backup, or drop the table"
    with pytest.raises(CorruptTable, match=told):
        paimon.open_catalog(tmp_path).damaged_table("db.t")


@pytest.mark.parametrize("name", [n for n in DAMAGES if "snapshot" in n and "missing" not in n and "tag" not in n])
def test_errors_say_what_is_lost_and_how_to_mend_it(tmp_path, name):
    table = damaged(tmp_path, name)
    lost = r"(its commit is lost, (older snapshots|no older)|Only this version is lost).*`paimon-core repair TABLE`"
    with pytest.raises(PaimonError, match=lost):
        table.inspect.snapshots()


@pytest.mark.parametrize("name", DAMAGES)
def test_whatever_fails_says_what_is_lost_and_how_to_mend_it(tmp_path, name):
    damaged(tmp_path, name)
    told = []
    for act in (
        lambda table: table.scan().to_arrow(),
        lambda table: table.inspect.snapshots(),
        lambda table: table.tags.list(),
        lambda table: table.write(rows(9)),
    ):
        try:
            act(paimon.open_catalog(tmp_path).table("db.t"))
        except CorruptTable as error:
            told.append(str(error))
    lost = r"\. (This is the newest|Only (its rows|this)|Snapshot \d cannot be read).*; `paimon-core repair TABLE`"
    assert [text for text in told if not re.search(lost, text)] == []
    assert told or name in UNNOTICED


UNNOTICED = {
    "garbage consumer",
    "garbage hint",
    "garbage statistics",
    "missing branch schema",
    "missing middle snapshot",
    "missing snapshot",
    "stale hint",
}
"""Damages without which the table is read and written: only a check or a repair tells them."""

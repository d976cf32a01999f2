"""Expire, sweep, check and roll back: the steps on small tables, without Spark."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimon_core.errors import CorruptTable, PlanOutdated
from paimon_core.metadata import clock
from paimon_core.table.table import Table
from paimon_core.table.upkeep.maintenance import Maintenance
from paimon_lake.cli.main import main
from paimon_lake.steps.audits.check_and_rollback import fsck, rollback
from paimon_lake.steps.upkeep import expiry
from paimon_lake.steps.upkeep import sweep as sweep_module
from paimon_lake.steps.upkeep.expiry import expire
from paimon_lake.steps.upkeep.sweep import sweep
from tests.support.lakes import SmallLake

NAME = "shop.days"
DAYS = """
columns: {month: STRING, date: DATE, orders: BIGINT}
primary_key: [month, date]
partition_by: [month]
options: {write-only: "true"}
retention: {keep_snapshots: 1, keep_hours: 0, orphans_older_than_hours: 1, keep_quarantine_days: 0}
"""


@pytest.fixture
def table(dry_lake: SmallLake) -> Table:
    dry_lake.declare(NAME, DAYS)
    return dry_lake.create(NAME)


def days(month: str, *numbers: int) -> pa.Table:
    dates = [date.fromisoformat(f"{month}-{number:02d}") for number in numbers]
    return pa.table({"month": [month] * len(dates), "date": dates, "orders": [1] * len(dates)})


def test_a_dry_run_counts_the_tags_that_it_would_delete(
    dry_lake: SmallLake, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    table.write(days("2024-01", 1))
    table.tags.create("old", keep_for=timedelta(hours=1))
    table.tags.create("eod", keep_for=timedelta(days=1))
    later = clock.now_millis() + 7_200_000
    monkeypatch.setattr(clock, "now_millis", lambda: later)
    counts = [
        expire(dry_lake.spark, dry_lake.settings, NAME, dry_run=dry).details["expired_tags"] for dry in (True, False)
    ]
    assert counts == [1, 1]
    assert [tag.name for tag in table.tags.list()] == ["eod"]


def test_expiry_says_what_holds_the_rest(dry_lake: SmallLake, table: Table) -> None:
    for day in (1, 2, 3, 4):
        table.write(days("2024-01", day))
    table.tags.create("eod", snapshot=2, keep_for=timedelta(days=1))
    table.maintenance.reset_consumer("reader", 3)
    planned = expire(dry_lake.spark, dry_lake.settings, NAME, dry_run=True)
    assert (planned.details["expired_snapshots"], table.latest_snapshot().id) == (2, 4)  # type: ignore[union-attr]
    assert planned.note.startswith("would delete 2 snapshots")
    done = expire(dry_lake.spark, dry_lake.settings, NAME)
    assert done.details["expired_snapshots"] == 2
    assert done.details["snapshots_left"] == 2
    assert "by consumer reader" in str(done.details["held_by"])
    assert "expire-snapshots shop.days: snapshot 1, snapshot 2" in str(done.details["plan"])
    assert json.loads(done.to_json())["details"] == done.details


def test_expiry_drops_what_the_options_of_the_table_name(dry_lake: SmallLake, table: Table) -> None:
    options = {
        "partition.expiration-time": "1 d",
        "partition.timestamp-pattern": "$month-01",
        "partition.timestamp-formatter": "yyyy-MM-dd",
        "consumer.expiration-time": "1 s",
    }
    Path(table.location).rename(f"{table.location}-without")
    written = "".join(f"  {name}: {json.dumps(value)}\n" for name, value in options.items())
    dry_lake.declare(NAME, DAYS.replace('options: {write-only: "true"}\n', f"options:\n{written}"))
    table = dry_lake.create(NAME)
    table.write(days("2024-01", 1))
    table.maintenance.reset_consumer("gone", 1)
    consumer = Path(table.location) / "consumer" / "consumer-gone"
    os.utime(consumer, (0, 0))
    result = expire(dry_lake.spark, dry_lake.settings, NAME)
    assert (result.details["expired_partitions"], result.details["expired_consumers"]) == (1, 1)
    assert result.row_count == 0
    assert result.commits == (2,)
    assert not consumer.exists()


def test_a_plan_that_grows_old_is_made_again(
    dry_lake: SmallLake, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    for day in (1, 2, 3):
        table.write(days("2024-01", day))
    apply, tries = Maintenance.apply, []

    def tagged_meanwhile(self: Maintenance, plan: Any) -> Any:
        tries.append(plan)
        if len(tries) == 1:
            table.tags.create("sudden", snapshot=1)
        return apply(self, plan)

    monkeypatch.setattr(Maintenance, "apply", tagged_meanwhile)
    assert expire(dry_lake.spark, dry_lake.settings, NAME).details["expired_snapshots"] == 2
    assert len(tries) == 2
    assert table.at(tag="sudden").scan().count() == 1
    monkeypatch.setattr(Maintenance, "apply", lambda *_: (_ for _ in ()).throw(PlanOutdated("again")))
    table.write(days("2024-01", 5))
    with pytest.raises(PlanOutdated):
        expire(dry_lake.spark, dry_lake.settings, NAME)


def test_a_sweep_puts_aside_and_a_later_one_purges(dry_lake: SmallLake, table: Table) -> None:
    table.write(days("2024-01", 1))
    with table.writer() as writer:
        writer.write(days("2024-01", 2))
        writer.flush()
    bucket = Path(table.location) / "month=2024-01" / "bucket-0"
    assert len(list(bucket.iterdir())) == 2
    assert sweep(dry_lake.spark, dry_lake.settings, NAME).details["quarantined_files"] == 0, "it is young"
    for file in bucket.iterdir():
        os.utime(file, (1, 1))
    dry_lake.declare(NAME, DAYS.replace("keep_quarantine_days: 0", "keep_quarantine_days: 7"))
    planned = sweep(dry_lake.spark, dry_lake.settings, NAME, dry_run=True)
    assert planned.note == "would move 1 files to quarantine and purge 0 quarantines"
    first = sweep(dry_lake.spark, dry_lake.settings, NAME)
    assert (first.details["quarantined_files"], first.details["purged_quarantines"]) == (1, 0)
    assert [q.id for q in table.maintenance.quarantines()] == [first.details["quarantine"]]
    assert len(list(bucket.iterdir())) == 1
    dry_lake.declare(NAME, DAYS)
    assert sweep(dry_lake.spark, dry_lake.settings, NAME).details["purged_quarantines"] == 1
    assert table.maintenance.quarantines() == []
    assert table.scan().count() == 1


@pytest.mark.parametrize("step", [expire, sweep])
def test_long_lists_are_spread_over_spark(
    dry_lake: SmallLake, table: Table, monkeypatch: pytest.MonkeyPatch, step: Callable[..., Any]
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(expiry, "apply_spark", lambda spark, table, plan: asked.append(plan.operation))
    monkeypatch.setattr(
        sweep_module,
        "plan_orphan_removal_spark",
        lambda spark, table, older_than: (
            asked.append("plan"),
            table.maintenance.plan_orphan_removal(older_than=older_than),
        )[1],
    )
    table.write(days("2024-01", 1))
    table.write(days("2024-01", 2))
    dry_lake.declare(NAME, DAYS.replace("keep_hours: 0", "keep_hours: 0, spark_from_files: 1"))
    step(lambda: None, dry_lake.settings, NAME)
    assert asked == (["expire-snapshots"] if step is expire else ["plan"])


def test_fsck_fails_when_an_invariant_is_broken(dry_lake: SmallLake, table: Table) -> None:
    table.write(days("2024-01", 1))
    assert "0 warnings" in fsck(dry_lake.settings, NAME).note
    assert fsck(dry_lake.settings, NAME, deep=True).details["warnings"] == 0
    (file,) = Path(table.location).glob("month=2024-01/bucket-0/*.parquet")
    file.unlink()
    with pytest.raises(CorruptTable, match=r"shop.days has 1 errors: error"):
        fsck(dry_lake.settings, NAME)


def test_a_rollback_is_looked_at_and_then_done(dry_lake: SmallLake, table: Table) -> None:
    table.write(days("2024-01", 1))
    table.tags.create("good")
    table.write(days("2024-01", 2))
    planned = rollback(dry_lake.settings, NAME, tag="good")
    assert (planned.snapshot_id, planned.row_count) == (2, 2)
    assert planned.note == "would delete snapshot 2"
    done = rollback(dry_lake.settings, NAME, tag="good", apply=True)
    assert (done.snapshot_id, done.row_count, done.note) == (1, 1, "deleted snapshot 2")


def test_the_command_line_has_them_all(dry_lake: SmallLake, table: Table, capsys: pytest.CaptureFixture[str]) -> None:
    lake = ["--configs", str(dry_lake.folder), "--table", NAME]
    table.write(days("2024-01", 1))
    asked = (
        ["tag", "--name", "x"],
        ["expire"],
        ["sweep", "--dry-run"],
        ["fsck", "--deep"],
        ["rollback", "--snapshot", "1"],
    )
    for one in asked:
        assert main([*one, *lake]) == 0, one
    said = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in said] == ["tag", "expire", "sweep", "fsck", "rollback"]
    next(Path(table.location).glob("month=2024-01/bucket-0/*.parquet")).unlink()
    assert main(["fsck", *lake]) == 1
    assert "corrupt-table: table shop.days has 1 errors" in capsys.readouterr().err
    assert main(["rollback", "--tag", "none", *lake]) == 2

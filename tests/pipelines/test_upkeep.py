"""Expire, sweep, check, mark and roll back: the steps on small tables, without Spark."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from paimon_core.errors import CorruptTable, PlanOutdated
from paimon_core.table.maintenance import Maintenance
from paimon_core.table.table import Table
from pipelines import expiry, flights
from pipelines.care import fsck, mark_done, rollback
from pipelines.cli import main
from pipelines.expiry import expire
from pipelines.flights import FLIGHTS, ingest_flights
from pipelines.lake import Retention, Settings, load_settings
from pipelines.protocol import PipelineError
from pipelines.sweep import sweep
from pipelines.tables import open_lake, open_table

NAME = "dws.carrier_day"
NOTHING_KEPT = Retention(keep_snapshots=1, keep_hours=0, orphans_older_than_hours=1, keep_quarantine_days=0)


def never() -> SparkSession:
    raise AssertionError("nothing here is worth a Spark session")


def kept(settings: Settings, **changes: Any) -> Settings:
    spec = settings.table(NAME).model_copy(update={"retention": NOTHING_KEPT.model_copy(update=changes)})
    return settings.model_copy(update={"tables": {**settings.tables, NAME: spec}})


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return kept(load_settings("local", warehouse=str(tmp_path / "lake")))


@pytest.fixture
def table(settings: Settings) -> Table:
    return open_table(settings, NAME, create=True)


def days(month: str, *numbers: int) -> pa.Table:
    dates = [date.fromisoformat(f"{month}-{number:02d}") for number in numbers]
    ones = [1] * len(dates)
    return pa.table(
        {"month": [month] * len(dates), "date": dates, "carrier": ["UA"] * len(dates), "flights": ones, "arrived": ones}
    )


def test_expiry_says_what_holds_the_rest(settings: Settings, table: Table) -> None:
    for day in (1, 2, 3, 4):
        table.write(days("2013-01", day))
    table.tags.create("eod", snapshot=2, keep_for=timedelta(days=1))
    table.maintenance.reset_consumer("reader", 3)
    planned = expire(never, settings, NAME, dry_run=True)
    assert (planned.details["expired_snapshots"], table.latest_snapshot().id) == (2, 4)  # type: ignore[union-attr]
    assert planned.note.startswith("would delete 2 snapshots")
    done = expire(never, settings, NAME)
    assert done.details["expired_snapshots"] == 2
    assert done.details["snapshots_left"] == 2
    assert "by consumer reader" in str(done.details["held_by"])
    assert "expire-snapshots dws.carrier_day: snapshot 1, snapshot 2" in str(done.details["plan"])
    assert json.loads(done.to_json())["details"] == done.details


def test_expiry_drops_what_the_options_of_the_table_name(settings: Settings, table: Table) -> None:
    options = {
        "partition.expiration-time": "1 d",
        "partition.timestamp-pattern": "$month-01",
        "partition.timestamp-formatter": "yyyy-MM-dd",
        "consumer.expiration-time": "1 s",
    }
    tables = {**settings.tables, NAME: settings.table(NAME).model_copy(update={"options": options | {"bucket": "1"}})}
    Path(table.location).rename(f"{table.location}-without")
    settings = settings.model_copy(update={"tables": tables})
    table = open_table(settings, NAME, create=True)
    table.write(days("2013-01", 1))
    table.maintenance.reset_consumer("gone", 1)
    consumer = Path(table.location) / "consumer" / "consumer-gone"
    os.utime(consumer, (0, 0))
    result = expire(never, settings, NAME)
    assert (result.details["expired_partitions"], result.details["expired_consumers"]) == (1, 1)
    assert result.row_count == 0
    assert result.commits == (2,)
    assert not consumer.exists()


def test_a_plan_that_grows_old_is_made_again(settings: Settings, table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    for day in (1, 2, 3):
        table.write(days("2013-01", day))
    apply, tries = Maintenance.apply, []

    def tagged_meanwhile(self: Maintenance, plan: Any) -> Any:
        tries.append(plan)
        if len(tries) == 1:
            table.tags.create("sudden", snapshot=1)
        return apply(self, plan)

    monkeypatch.setattr(Maintenance, "apply", tagged_meanwhile)
    assert expire(never, settings, NAME).details["expired_snapshots"] == 2
    assert len(tries) == 2
    assert table.at(tag="sudden").scan().count() == 1
    monkeypatch.setattr(Maintenance, "apply", lambda *_: (_ for _ in ()).throw(PlanOutdated("again")))
    table.write(days("2013-01", 5))
    with pytest.raises(PlanOutdated):
        expire(never, settings, NAME)


def test_a_sweep_puts_aside_and_a_later_one_purges(settings: Settings, table: Table) -> None:
    table.write(days("2013-01", 1))
    with table.writer() as writer:
        writer.write(days("2013-01", 2))
        writer.flush()
    bucket = Path(table.location) / "month=2013-01" / "bucket-0"
    assert len(list(bucket.iterdir())) == 2
    assert sweep(never, settings, NAME).details["quarantined_files"] == 0, "it is young"
    for file in bucket.iterdir():
        os.utime(file, (1, 1))
    keeps = kept(settings, keep_quarantine_days=7)
    assert sweep(never, keeps, NAME, dry_run=True).note == "would move 1 files to quarantine and purge 0 quarantines"
    first = sweep(never, keeps, NAME)
    assert (first.details["quarantined_files"], first.details["purged_quarantines"]) == (1, 0)
    assert [q.id for q in table.maintenance.quarantines()] == [first.details["quarantine"]]
    assert len(list(bucket.iterdir())) == 1
    assert sweep(never, settings, NAME).details["purged_quarantines"] == 1
    assert table.maintenance.quarantines() == []
    assert table.scan().count() == 1


@pytest.mark.parametrize("step", [expire, sweep])
def test_long_lists_are_spread_over_spark(
    settings: Settings, table: Table, monkeypatch: pytest.MonkeyPatch, step: Callable[..., Any]
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(expiry, "apply_spark", lambda spark, table, plan: asked.append(plan.operation))
    monkeypatch.setattr(
        "pipelines.sweep.plan_orphan_removal_spark",
        lambda spark, table, older_than: (
            asked.append("plan"),
            table.maintenance.plan_orphan_removal(older_than=older_than),
        )[1],
    )
    table.write(days("2013-01", 1))
    table.write(days("2013-01", 2))
    step(lambda: None, kept(settings, spark_from_files=1), NAME)
    assert asked == (["expire-snapshots"] if step is expire else ["plan"])


def test_fsck_fails_when_an_invariant_is_broken(settings: Settings, table: Table) -> None:
    table.write(days("2013-01", 1))
    assert "0 warnings" in fsck(settings, NAME).note
    assert fsck(settings, NAME, deep=True).details["warnings"] == 0
    (file,) = Path(table.location).glob("month=2013-01/bucket-0/*.parquet")
    file.unlink()
    with pytest.raises(CorruptTable, match=r"dws.carrier_day has 1 errors: error"):
        fsck(settings, NAME)


def test_complete_months_are_marked(settings: Settings, table: Table) -> None:
    table.write(days("2013-02", *range(1, 28)))
    assert mark_done(settings, NAME).note == "no month is complete"
    table.write(days("2013-02", 28))
    table.write(days("2013-03", 1))
    assert mark_done(settings, NAME).details["months_done"] == 1
    assert mark_done(settings, NAME, ["2013-03"]).note == "marked 2013-03"
    assert sorted(p.parent.name for p in Path(table.location).glob("*/_SUCCESS")) == ["month=2013-02", "month=2013-03"]
    open_table(settings, "dim.airlines", create=True)
    with pytest.raises(PipelineError, match=r"dim.airlines is not partitioned by month"):
        mark_done(settings, "dim.airlines", ["2013-01"])


def test_a_load_that_died_before_it_marked_its_month_marks_it_when_repeated(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    february = [date(2013, 2, day) for day in range(1, 29)]
    table = open_table(settings, FLIGHTS, create=True)
    same = {"month": ["2013-02"] * 28, "carrier": ["UA"] * 28, "origin": ["JFK"] * 28}
    table.write(pa.table({**same, "date": february, "flight": pa.array(range(28), pa.int32())}))
    nothing_to_do = rollback(settings, FLIGHTS, snapshot=1)
    monkeypatch.setattr(flights, "load", lambda *_, **__: nothing_to_do)
    assert ingest_flights(never, settings, february).details["months_done"] == 1
    assert ingest_flights(never, settings, february).details["months_done"] == 0
    assert [p.parent.name for p in Path(table.location).glob("*/_SUCCESS")] == ["month=2013-02"]


def test_a_rollback_is_looked_at_and_then_done(settings: Settings, table: Table) -> None:
    table.write(days("2013-01", 1))
    table.tags.create("good")
    table.write(days("2013-01", 2))
    planned = rollback(settings, NAME, tag="good")
    assert (planned.snapshot_id, planned.row_count) == (2, 2)
    assert planned.note == "would delete snapshot 2 (--apply does it)"
    done = rollback(settings, NAME, tag="good", apply=True)
    assert (done.snapshot_id, done.row_count, done.note) == (1, 1, "deleted snapshot 2")


def test_the_command_line_has_them_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lake = ["--warehouse", str(tmp_path / "lake"), "--table", NAME]
    table = open_table(load_settings("local", warehouse=str(tmp_path / "lake")), NAME, create=True)
    table.write(days("2013-01", 1))
    for asked in (
        ["expire"],
        ["sweep", "--dry-run"],
        ["fsck", "--deep"],
        ["mark-done"],
        ["rollback", "--snapshot", "1"],
    ):
        assert main([*asked, *lake]) == 0, asked
    said = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in said] == ["expire", "sweep", "fsck", "mark-done", "rollback"]
    next(Path(table.location).glob("month=2013-01/bucket-0/*.parquet")).unlink()
    assert main(["fsck", *lake]) == 1
    assert "corrupt-table: table dws.carrier_day has 1 errors" in capsys.readouterr().err
    assert main(["rollback", "--tag", "none", *lake]) == 2
    assert open_lake(load_settings("local", warehouse=str(tmp_path / "lake"))).list_tables("dws") == ["carrier_day"]

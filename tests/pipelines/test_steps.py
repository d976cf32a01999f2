"""The steps on a few days of real data, by Spark; without Dagster."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession

import paimon_core as paimon
from paimon_core import col
from pipelines import source, tables
from pipelines.audit import audit, audit_files
from pipelines.carrier_day import CARRIER_DAY, aggregate_carrier_day
from pipelines.cli import main
from pipelines.dimensions import load_dimension
from pipelines.expiry import expire
from pipelines.flights import CANCELLATIONS, FLIGHTS, ingest_cancellations, ingest_flights
from pipelines.lake import Settings, load_settings
from pipelines.maintenance import compact, tag
from pipelines.protocol import PipelineError, day_range
from pipelines.tables import open_table
from pipelines.weather import WEATHER, ingest_weather

FIRST, SECOND, THIRD = date(2013, 1, 31), date(2013, 2, 1), date(2013, 2, 2)
ALL = (FIRST, SECOND, THIRD)

Session = Callable[[], SparkSession]


def never() -> SparkSession:
    raise AssertionError("a step that has nothing to do asked for Spark")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings("local", warehouse=str(tmp_path / "lake"))


@pytest.fixture
def session(spark: SparkSession) -> Session:
    return lambda: spark


def rows(settings: Settings, name: str) -> list[dict[str, object]]:
    table = open_table(settings, name)
    order = [(column, "ascending") for column in settings.table(name).key]
    return list(table.scan().to_arrow().sort_by(order).to_pylist())


def snapshots(settings: Settings, name: str) -> pa.Table:
    return open_table(settings, name).inspect.snapshots()


def test_flights_end_as_the_source_has_them_whatever_the_runs(settings: Settings, session: Session) -> None:
    result = ingest_flights(session, settings, ALL, properties={"dagster.run-id": "r1"})
    expected = {day.isoformat(): source.departed_per_day()[day] for day in ALL}
    assert result.rows_per_partition == expected
    assert result.row_count == sum(expected.values())
    assert result.commits == (1, 2, 3)
    history = snapshots(settings, FLIGHTS)
    assert set(history["commit_kind"].to_pylist()) == {"APPEND"}
    assert history["commit_identifier"].to_pylist() == [1, 2, 3]
    stages = [dict(p)["pipeline.stage"] for p in history["properties"].to_pylist()]
    assert stages == ["scheduled", "departures", "arrivals"]
    assert dict(history["properties"].to_pylist()[0])["dagster.run-id"] == "r1"

    table = open_table(settings, FLIGHTS)
    first = table.at(snapshot=1).scan().to_arrow()
    assert first.num_rows == sum(expected.values()) + sum(source.cancelled_per_day()[day] for day in ALL)
    assert first["dep_time"].null_count == first.num_rows
    second = table.at(snapshot=2).scan(where=col("dep_time").is_not_null()).to_arrow()
    assert second.num_rows == sum(expected.values())
    assert second["arr_time"].null_count == second.num_rows

    late = table.scan(where=(col("date") == FIRST) & (col("carrier") == "WN") & (col("flight") == 530)).to_arrow()
    assert late.drop_columns(["month", "date", "time_hour"]).to_pylist() == [
        {
            "carrier": "WN",
            "flight": 530,
            "origin": "LGA",
            "dest": "MDW",
            "tailnum": "N550WN",
            "distance": 725,
            "sched_dep_time": 2100,
            "sched_arr_time": 2225,
            "dep_time": 1,
            "dep_delay": 181,
            "arr_time": 124,
            "arr_delay": 179,
            "air_time": 127,
        }
    ]
    assert late["time_hour"].to_pylist() == [datetime(2013, 2, 1, 2, tzinfo=UTC)]


def test_a_load_repeated_writes_nothing_and_starts_no_spark(settings: Settings, session: Session) -> None:
    first = ingest_flights(session, settings, [FIRST])
    again = ingest_flights(never, settings, [FIRST, FIRST])
    assert (again.commits, again.rows_written) == ((), 0)
    assert again.skipped == ("scheduled", "departures", "arrivals")
    assert (again.row_count, again.snapshot_id) == (first.row_count, first.snapshot_id)
    assert "loaded before" in again.sentence()


def test_a_load_cut_short_goes_on_after_its_last_commit(
    settings: Settings, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, calls = tables.write_spark, []

    def fail_at_the_second(*args: object, **named: object) -> object:
        calls.append(named["identifier"])
        if len(calls) == 2:
            raise OSError("the disk went away")
        return write(*args, **named)

    monkeypatch.setattr(tables, "write_spark", fail_at_the_second)
    with pytest.raises(OSError, match="the disk went away"):
        ingest_flights(session, settings, [FIRST])
    result = ingest_flights(session, settings, [FIRST])
    assert calls == [1, 2, 2, 3]
    assert result.skipped == ("scheduled",)
    assert result.row_count == source.departed_per_day()[FIRST]
    assert snapshots(settings, FLIGHTS).num_rows == 3


def test_overlapping_ranges_end_in_the_same_rows(settings: Settings, session: Session, tmp_path: Path) -> None:
    ingest_flights(session, settings, [FIRST, SECOND])
    ingest_flights(session, settings, [SECOND, THIRD])
    other = load_settings("local", warehouse=str(tmp_path / "other"))
    ingest_flights(session, other, ALL)
    assert rows(settings, FLIGHTS) == rows(other, FLIGHTS)


def test_append_tables_take_only_what_they_lack(settings: Settings, session: Session) -> None:
    for days in ([SECOND], ALL, [FIRST, THIRD]):
        cancelled = ingest_cancellations(session, settings, days)
        weather = ingest_weather(session, settings, days)
    assert cancelled.row_count == sum(source.cancelled_per_day()[day] for day in ALL)
    assert weather.row_count == sum(source.weather_per_day()[day] for day in ALL)
    for name in (CANCELLATIONS, WEATHER):
        assert all(finding.passed for finding in audit(settings, name, ALL)), audit(settings, name, ALL)
    kept = rows(settings, WEATHER)[0]
    assert (kept["origin"], kept["month"], kept["date"]) == ("EWR", "2013-01", FIRST)


def test_a_dimension_is_overwritten_as_a_whole_and_once(settings: Settings, session: Session) -> None:
    table = tables.open_table(settings, "dim.airlines", create=True)
    table.write(pa.table({"carrier": ["XX", "UA"], "name": ["gone", "old name"]}))
    result = load_dimension(session, settings, "dim.airlines")
    names = {row["carrier"]: row["name"] for row in rows(settings, "dim.airlines")}
    assert result.row_count == len(names) == 16
    assert names["UA"] == "United Air Lines Inc."
    assert snapshots(settings, "dim.airlines")["commit_kind"].to_pylist() == ["APPEND", "OVERWRITE"]
    assert load_dimension(never, settings, "dim.airlines").commits == ()


def test_carrier_days_are_exact_and_replace_their_months_only(settings: Settings, session: Session) -> None:
    ingest_flights(session, settings, ALL)
    aggregate_carrier_day(session, settings, ["2013-01", "2013-02"])
    january = [row for row in rows(settings, CARRIER_DAY) if row["month"] == "2013-01"]
    flights = (
        open_table(settings, FLIGHTS).scan(columns=["carrier", "arr_delay"], where=col("date") == FIRST).to_arrow()
    )
    for row in january:
        delays = flights.filter(pc.equal(flights["carrier"], row["carrier"]))["arr_delay"]
        assert row["flights"] == len(delays)
        assert row["arrived"] == len(delays) - delays.null_count
        assert row["mean_delay"] == pytest.approx(pc.mean(delays).as_py())
        assert row["p95_delay"] == pytest.approx(pc.quantile(delays, 0.95)[0].as_py())
    assert sum(row["flights"] for row in january) == flights.num_rows

    ingest_flights(session, settings, [date(2013, 2, 3)])
    result = aggregate_carrier_day(session, settings, ["2013-02"])
    assert result.rows_per_partition["2013-02"] > 0
    assert [row for row in rows(settings, CARRIER_DAY) if row["month"] == "2013-01"] == january
    assert snapshots(settings, CARRIER_DAY)["commit_kind"].to_pylist() == ["OVERWRITE", "OVERWRITE"]
    compact(session, settings, FLIGHTS, full=True)
    assert aggregate_carrier_day(never, settings, ["2013-02"]).commits == (), "a compaction changed no row"


def test_maintenance_keeps_what_a_reader_sees(settings: Settings, session: Session) -> None:
    ingest_flights(session, settings, [FIRST, SECOND])
    before = rows(settings, FLIGHTS)
    planned = compact(never, settings, FLIGHTS, full=True, partitions=["2013-01"], dry_run=True)
    assert (planned.commits, planned.details["buckets"], planned.details["input_files"]) == ((), 2, 6)
    part = compact(session, settings, FLIGHTS, full=True, partitions=["2013-01"])
    assert {level: size.files for level, size in part.levels_before.items()} == {0: 12}
    assert part.levels_after[0].files == 6
    done = compact(session, settings, FLIGHTS)
    assert 0 not in done.levels_after
    assert done.files == 4
    assert compact(never, settings, FLIGHTS).commits == ()
    assert rows(settings, FLIGHTS) == before
    assert tag(settings, FLIGHTS, "eod").details == {"tag": "eod", "tagged_snapshot": 5}
    assert "exists already" in tag(settings, FLIGHTS, "eod").note
    assert expire(never, settings, FLIGHTS).details["expired_snapshots"] == 0
    assert all(finding.passed for finding in audit(settings, FLIGHTS, [FIRST, SECOND]))


def test_partitions_of_a_table_without_any_are_refused(settings: Settings, session: Session) -> None:
    ingest_cancellations(session, settings, [FIRST])
    with pytest.raises(PipelineError, match=r"ods.cancellations has no partitions"):
        compact(never, settings, CANCELLATIONS, partitions=["2013-01"])


def test_audits_find_what_is_wrong(settings: Settings, session: Session) -> None:
    ingest_cancellations(session, settings, [FIRST])
    table = open_table(settings, CANCELLATIONS)
    table.write(table.scan(limit=2).to_arrow())
    found = {finding.audit: finding for finding in audit(settings, CANCELLATIONS, [FIRST])}
    assert (found["rows"].wrong, found["keys"].wrong, found["files"].wrong) == (1, 2, 0)
    assert "differs on 2013-01-31" in found["rows"].sentence
    file = next(Path(settings.warehouse).glob("ods.db/cancellations/bucket-0/*.parquet"))
    file.write_bytes(file.read_bytes()[:-1])
    wrong = audit_files(settings, CANCELLATIONS)
    assert not wrong.passed
    assert file.name in wrong.sentence


def test_the_command_line_does_the_same(
    settings: Settings,
    session: Session,
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    ingest_flights(session, settings, day_range(FIRST, SECOND))
    monkeypatch.setattr("pipelines.cli.start_session", lambda _: spark)
    other = str(tmp_path / "other")
    arguments = ["--warehouse", other, "--from", "2013-01-31", "--to", "2013-02-01", "--json"]
    assert main(["ingest-flights", *arguments]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["commits"] == [1, 2, 3]
    assert rows(load_settings("local", warehouse=other), FLIGHTS) == rows(settings, FLIGHTS)
    assert paimon.open_catalog(other).list_tables("ods") == ["flights"]

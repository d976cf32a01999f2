"""Loads that start by themselves: schedules, and tables that are loaded when their inputs are."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from paimon_dagster.factories.loads import RANGE_END, RANGE_START, due_partitions, load_requests
from paimon_dagster.lake import build_definitions
from paimon_lake.declarations import Settings
from tests.support.declared_lakes import declared_lake

pytestmark = pytest.mark.filterwarnings("ignore::dagster.BetaWarning")

FILES = "source: {type: files, path: 'data/{date}.csv'}\n"
DAYS = "partitions: {by: day, start: 2024-01-01, column: day}\n"
AT_FIVE = "schedule: {cron: '0 5 * * *', timezone: Europe/Berlin}\n"


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dg.DagsterInstance]:
    """One for all tests, which use different parts of it."""
    with dg.DagsterInstance.local_temp(str(tmp_path_factory.mktemp("instance"))) as opened:
        yield opened


def tick(definitions: dg.Definitions, name: str, instance: dg.DagsterInstance) -> Any:
    schedule = definitions.resolve_schedule_def(name)
    at = datetime(2024, 1, 10, 4, 0, tzinfo=UTC)
    repository = definitions.get_repository_def()
    with dg.build_schedule_context(
        instance=instance, scheduled_execution_time=at, repository_def=repository
    ) as context:
        return schedule.evaluate_tick(context)


def materialize(instance: dg.DagsterInstance, key: str, *partitions: str | None) -> None:
    for partition in partitions or (None,):
        instance.report_runless_asset_event(dg.AssetMaterialization(dg.AssetKey(key.split(".")), partition=partition))


def test_a_scheduled_load_takes_the_days_since_the_last_one(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    table = FILES + DAYS + AT_FIVE + "backfill_per_run: 2\n"
    definitions = build_definitions(declared_lake(tmp_path / "lake", {"ods.t": table}))
    first = tick(definitions, "load__ods_t_schedule", instance).run_requests or []
    assert [request.partition_key for request in first] == ["2024-01-09"]
    materialize(instance, "ods.t", "2024-01-05", "2024-01-06")
    later = tick(definitions, "load__ods_t_schedule", instance).run_requests or []
    assert [(r.tags.get(RANGE_START), r.tags.get(RANGE_END), r.partition_key) for r in later] == [
        ("2024-01-07", "2024-01-08", None),
        (None, None, "2024-01-09"),
    ]
    assert {request.job_name for request in later} == {"load__ods_t"}
    assert len({request.run_key for request in later}) == 2


def test_a_scheduled_table_without_partitions_is_one_run_a_tick(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    table = "source: {type: files, path: 'data/*.csv'}\n" + AT_FIVE
    definitions = build_definitions(declared_lake(tmp_path / "lake", {"ods.t": table}))
    (request,) = tick(definitions, "load__ods_t_schedule", instance).run_requests or []
    assert request.run_key == "ods.t@2024-01-10T04:00:00+00:00"
    assert request.partition_key is None


def test_dynamic_partitions_are_all_loaded_and_none_is_skipped(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    table = "source: {type: files, path: 'data/{shop}.csv'}\npartitions: dynamic\n" + AT_FIVE
    definitions = build_definitions(declared_lake(tmp_path / "lake", {"ods.t": table}))
    assert tick(definitions, "load__ods_t_schedule", instance).skip_message == "ods.t has no partition yet"
    instance.add_dynamic_partitions("ods_t", ["b", "a"])
    requests = tick(definitions, "load__ods_t_schedule", instance).run_requests or []
    assert [request.partition_key for request in requests] == ["a", "b"]


def test_the_newest_day_is_loaded_again_when_none_is_new() -> None:
    days = dg.DailyPartitionsDefinition("2024-01-01", end_date="2024-01-04")
    assert due_partitions(days, {"2024-01-03"}) == ["2024-01-03"]
    assert due_partitions(days, {"2024-01-01", "2024-01-02"}) == ["2024-01-03"]
    assert due_partitions(days, set()) == ["2024-01-03"]


def test_only_days_that_follow_each_other_share_a_run(tmp_path: Path) -> None:
    table = FILES + DAYS + "backfill_per_run: 3\n"
    spec = declared_lake(tmp_path / "lake", {"ods.t": table}).table("ods.t")
    days = [f"2024-01-{day:02}" for day in (1, 2, 3, 4, 6, 7)]
    parts: list[tuple[str, ...]] = []
    load_requests(spec, days, lambda keys: parts.append(tuple(key[-2:] for key in keys)) or str(keys))  # type: ignore[func-returns-value]
    assert parts == [("01", "02", "03"), ("04",), ("06", "07")]


@pytest.fixture
def derived(tmp_path: Path) -> Settings:
    tables = {
        "ods.days": FILES + DAYS.replace("start: 2024-01-01", "start: 2024-01-01, end: 2024-02-29"),
        "dws.months": "source: {type: sql, query: select 1, inputs: [ods.days]}\nschedule: {on: inputs}\n"
        "partitions: {by: month, start: 2024-01-01, end: 2024-02-29, column: day}\n",
        "dws.all": "source: {type: sql, query: select 1, inputs: [dws.months]}\nschedule: {on: inputs}\n",
    }
    return declared_lake(tmp_path / "lake", tables)


def test_a_month_is_loaded_after_its_days_also_an_old_one(derived: Settings) -> None:
    definitions = build_definitions(derived)
    january = [f"2024-01-{day:02}" for day in range(1, 32)]
    february = [f"2024-02-{day:02}" for day in range(1, 30)]
    with dg.DagsterInstance.ephemeral() as instance:
        materialize(instance, "ods.days", *january[:-1], *february)
        state = dg.evaluate_automation_conditions(definitions, instance)
        assert state.total_requested == 0
        materialize(instance, "ods.days", january[-1])
        state = dg.evaluate_automation_conditions(definitions, instance, cursor=state.cursor)
        assert state.get_requested_partitions(dg.AssetKey(["dws", "months"])) == {"2024-01"}
        materialize(instance, "dws.months", "2024-01", "2024-02")
        state = dg.evaluate_automation_conditions(definitions, instance, cursor=state.cursor)
        assert state.get_num_requested(dg.AssetKey(["dws", "all"])) == 1

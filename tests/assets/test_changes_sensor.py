"""The sensor of changes: what it requests and reports for tables that are behind their sources."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster._core.events import StepMaterializationData

from paimon_dagster.lake import build_definitions
from paimon_dagster.sensors import changes_sensor
from paimon_dagster.sensors.changes_sensor import wait_seconds
from paimon_lake.checks.lag_check import compared
from paimon_lake.declarations import Settings
from paimon_lake.declarations.tables.checks import LagCheck
from paimon_lake.protocol import PipelineError
from paimon_lake.sources.lag import Lag
from tests.support.declared_lakes import declared_lake
from tests.support.lakes import small_lake

pytestmark = pytest.mark.filterwarnings("ignore::dagster.BetaWarning")

SOURCE = "source: {type: postgres_changes, url: 'postgresql://lake@127.0.0.1:1/shop', table: public.t}\n"
ON_CHANGES = SOURCE + "schedule: {on: changes}\n"
CHECK = "checks: [{type: lag, max_seconds: 60}]\n"
BEHIND = Lag("0/5", True, 2_000_000, 90.0, 3_000_000)
UP_TO_DATE = Lag("0/5", False, 0, 0.0, 100)
DOWN = PipelineError("postgresql://127.0.0.1:1/shop: connection refused")
Tick = Callable[..., Any]


class World:
    """The answers of the sources, and the time."""

    def __init__(self) -> None:
        self.answers: dict[str, Lag | Exception] = {}
        self.asked: list[str] = []
        self.now = 1_700_000_000.0

    def lags(self, settings: Settings, names: list[str]) -> dict[str, Lag | Exception]:
        self.asked = list(names)
        return {name: self.answers[name] for name in names}

    def time(self) -> float:
        return self.now


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    made = World()
    monkeypatch.setattr(changes_sensor, "lags", made.lags)
    monkeypatch.setattr(changes_sensor, "time", made)
    return made


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.local_temp(str(tmp_path_factory.mktemp("instance"))) as opened:
        yield opened


@pytest.fixture
def tick(instance: dg.DagsterInstance) -> Tick:
    built: dict[Path, dg.Definitions] = {}

    def evaluate(settings: Settings, cursor: str | None = None) -> Any:
        if settings.folder not in built:
            built[settings.folder] = build_definitions(settings)
        definitions = built[settings.folder]
        lake = definitions.resources["lake"]  # type: ignore[index]
        repository = definitions.get_repository_def()
        with dg.build_sensor_context(
            instance_ref=instance.get_ref(), cursor=cursor, resources={"lake": lake}, repository_def=repository
        ) as context:
            return definitions.resolve_sensor_def("changes").evaluate_tick(context)

    return evaluate


def ended(instance: dg.DagsterInstance, table: str, status: dg.DagsterRunStatus, at: float) -> None:
    """Add a run of the table's load job that ended at a time."""
    run = dg.DagsterRun(job_name=f"load__{table}", status=dg.DagsterRunStatus.STARTED)
    instance.run_storage.add_run(run)
    event = dg.DagsterEvent(event_type_value=f"PIPELINE_{status.value}", job_name=run.job_name)
    instance.run_storage.handle_run_event(run.run_id, event, datetime.fromtimestamp(at, UTC))


def test_a_lake_without_changes_has_no_such_sensor(tmp_path: Path) -> None:
    definitions = build_definitions(declared_lake(tmp_path / "lake", {"a.t": SOURCE}))
    assert "changes" not in {sensor.name for sensor in definitions.sensors or ()}
    named = build_definitions(declared_lake(tmp_path / "other", {"a.t": ON_CHANGES}), name="shop")
    assert "shop_changes" in {sensor.name for sensor in named.sensors or ()}


def test_only_a_table_that_is_behind_is_requested_and_an_error_is_told(
    tmp_path: Path, tick: Tick, world: World
) -> None:
    settings = declared_lake(tmp_path / "lake", dict.fromkeys(("one.a", "one.b", "one.c", "one.d"), ON_CHANGES))
    busy = Lag("0/5", True, 5, None, 3, "the slot is read now", is_read=True)
    world.answers = {"one.a": DOWN, "one.b": BEHIND, "one.c": UP_TO_DATE, "one.d": busy}
    found = tick(settings)
    assert [(r.job_name, r.partition_key) for r in found.run_requests or []] == [("load__one_b", None)]
    world.answers["one.b"] = UP_TO_DATE
    later = tick(settings, None)
    assert not later.run_requests
    assert later.skip_message == (
        "one.a: postgresql://127.0.0.1:1/shop: connection refused; one.b: up to date; the slot holds 100 B; "
        "one.c: up to date; the slot holds 100 B; "
        "one.d: 5 B behind; the slot holds 3 B; the slot is read now: nothing is requested"
    )


def test_one_run_is_requested_for_the_tables_of_a_slot(tmp_path: Path, tick: Tick, world: World) -> None:
    shared = "source: {type: postgres_changes, database: shop, table: public.t}\nschedule: {on: changes}\n"
    base = "warehouse: warehouse\npostgres: {shop: {url: 'postgresql://lake@127.0.0.1:1/shop'}}\n"
    settings = declared_lake(tmp_path / "lake", {"six.a": shared, "six.b": shared, "six.c": ON_CHANGES}, base)
    world.answers = dict.fromkeys(("six.a", "six.b", "six.c"), BEHIND)
    found = tick(settings)
    assert [request.job_name for request in found.run_requests] == ["load__six_a", "load__six_c"]


def test_a_table_has_one_run_at_a_time_and_each_request_its_own_key(
    tmp_path: Path, tick: Tick, world: World, instance: dg.DagsterInstance
) -> None:
    settings = declared_lake(tmp_path / "lake", {"two.t": ON_CHANGES})
    world.answers = {"two.t": BEHIND}
    (first,) = tick(settings).run_requests
    (again,) = tick(settings).run_requests
    assert first.run_key == again.run_key, "a tick that Dagster repeats requests the same run"
    run = dg.DagsterRun(job_name="load__two_t", status=dg.DagsterRunStatus.STARTED)
    instance.run_storage.add_run(run)
    waiting = tick(settings)
    assert not waiting.run_requests
    assert waiting.skip_message.endswith("a load is queued or running")
    instance.delete_run(run.run_id)
    ended(instance, "two_t", dg.DagsterRunStatus.SUCCESS, world.now)
    (after,) = tick(settings).run_requests
    assert after.run_key != first.run_key


def test_after_failed_loads_the_next_request_waits(
    tmp_path: Path, tick: Tick, world: World, instance: dg.DagsterInstance
) -> None:
    settings = declared_lake(tmp_path / "lake", {"three.t": ON_CHANGES})
    world.answers = {"three.t": BEHIND}
    keys = set()
    for failures, wait in ((1, 60), (2, 120), (3, 240)):
        ended(instance, "three_t", dg.DagsterRunStatus.FAILURE, world.now)
        world.now += wait - 1
        found = tick(settings)
        assert not found.run_requests
        assert f"the last loads failed ({failures}), the next one is requested at " in found.skip_message
        world.now += 1
        (request,) = tick(settings).run_requests
        keys.add(request.run_key)
    assert len(keys) == 3, "Dagster launches a run key only once"
    ended(instance, "three_t", dg.DagsterRunStatus.SUCCESS, world.now)
    assert tick(settings).run_requests
    assert [wait_seconds(failures, 60) for failures in (1, 5, 1000)] == [60, 600, 600]
    assert wait_seconds(1, 900) == 900


def test_a_failed_run_that_loaded_the_table_does_not_delay_the_next_request(
    tmp_path: Path, tick: Tick, world: World, instance: dg.DagsterInstance
) -> None:
    settings = declared_lake(tmp_path / "lake", {"four.a": ON_CHANGES})
    world.answers = {"four.a": BEHIND}
    ended(instance, "four_a", dg.DagsterRunStatus.FAILURE, world.now)
    assert not tick(settings).run_requests
    (run,) = instance.get_run_records(dg.RunsFilter(job_name="load__four_a"))
    loaded = dg.AssetMaterialization(dg.AssetKey(["four", "a"]))
    event = dg.DagsterEvent(
        "ASSET_MATERIALIZATION", "load__four_a", event_specific_data=StepMaterializationData(loaded)
    )
    instance.report_dagster_event(event, run.dagster_run.run_id)
    assert len(tick(settings).run_requests) == 1, "another table of its slot, or a part, failed"


def test_after_a_failed_question_the_next_question_of_this_table_waits(
    tmp_path: Path, tick: Tick, world: World
) -> None:
    settings = declared_lake(tmp_path / "lake", {"four.a": ON_CHANGES, "four.b": ON_CHANGES})
    world.answers = {"four.a": DOWN, "four.b": UP_TO_DATE}
    cursor = tick(settings, tick(settings).cursor).cursor
    assert world.asked == ["four.b"], "the first failure: the next question comes an interval later"
    world.now += 60
    cursor = tick(settings, cursor).cursor
    assert world.asked == ["four.a", "four.b"]
    world.now += 60
    waiting = tick(settings, cursor)
    assert world.asked == ["four.b"]
    assert "four.a: postgresql://127.0.0.1:1/shop: connection refused; asked again at " in waiting.skip_message
    world.now += 60
    world.answers["four.a"] = BEHIND
    (request,) = tick(settings, waiting.cursor).run_requests
    assert request.tags["paimon/table"] == "four.a"
    assert json.loads(tick(settings, "[1, 2]").cursor)["four.b"]["failures"] == 0, "a cursor of another form"


def test_a_check_of_the_lag_is_reported_when_its_result_changes(
    tmp_path: Path, tick: Tick, world: World, instance: dg.DagsterInstance
) -> None:
    settings = declared_lake(tmp_path / "lake", {"five.t": SOURCE + "schedule: '@daily'\n" + CHECK})
    world.answers = {"five.t": BEHIND}
    found = tick(settings)
    assert not found.run_requests, "the schedule loads it"
    (event,) = found.asset_events
    assert (event.check_name, event.passed) == ("lag", False)
    assert {name: value.value for name, value in event.metadata.items()} == {
        "paimon/wrong": 1,
        "paimon/lag_bytes": 2_000_000,
        "paimon/lag_seconds": 90.0,
        "paimon/slot_bytes": 3_000_000,
    }
    instance.report_runless_asset_event(event)
    world.now += 60
    same = tick(settings, found.cursor)
    assert not same.asset_events
    world.answers = {"five.t": UP_TO_DATE}
    passed = tick(settings, same.cursor)
    assert [one.passed for one in passed.asset_events] == [True]
    world.now += 3601
    assert [one.passed for one in tick(settings, passed.cursor).asset_events] == [True]
    world.answers = {"five.t": DOWN}
    (down,) = tick(settings, passed.cursor).asset_events
    assert (down.passed, "cannot be evaluated: postgresql://127.0.0.1:1/shop" in down.description) == (False, True)


def test_a_table_whose_declaration_was_removed_meanwhile_is_left_out(tmp_path: Path, tick: Tick, world: World) -> None:
    settings = declared_lake(tmp_path / "lake", {"six.a": SOURCE + CHECK, "six.b": ON_CHANGES})
    world.answers = {"six.a": UP_TO_DATE, "six.b": UP_TO_DATE}
    assert tick(settings).skip_message.count("up to date") == 2
    (settings.folder / "tables" / "six.a.yaml").unlink()
    assert tick(settings).skip_message == "six.b: up to date; the slot holds 100 B"
    (settings.folder / "tables" / "six.b.yaml").unlink()
    assert tick(settings).skip_message == "the tables are not declared any more"


def test_a_check_alone_needs_no_job(tmp_path: Path, tick: Tick, world: World) -> None:
    settings = declared_lake(tmp_path / "lake", {"seven.t": SOURCE + CHECK})
    world.answers = {"seven.t": BEHIND}
    found = tick(settings)
    assert (found.run_requests, [event.passed for event in found.asset_events]) == ([], [False])


@pytest.mark.parametrize(
    ("bounds", "found", "broken", "said"),
    [
        ({"max_seconds": 90}, BEHIND, 0, "2.0 MB behind, the oldest change waits for 90 s; the slot holds 3.0 MB"),
        ({"max_seconds": 89.5}, BEHIND, 1, "; the slot holds 3.0 MB: a change may wait for at most 89.5 s"),
        ({"max_bytes": 1_999_999, "max_slot_bytes": 0}, BEHIND, 2, "at most 2.0 MB behind are allowed, and the slot"),
        ({"max_bytes": 0, "max_seconds": 0, "max_slot_bytes": 100}, UP_TO_DATE, 0, "up to date"),
        ({"max_bytes": 1 << 40}, Lag("", True), 1, "nothing is loaded yet"),
        (
            {"max_seconds": 9},
            Lag("0/5", True, 7, None, 1, "the oldest change was not found in 10 s"),
            1,
            "was not found",
        ),
        ({"max_seconds": 9}, Lag("0/5", True, 7, None, 1, "the slot is read now", is_read=True), 0, "is read now"),
        ({"max_slot_bytes": 9}, Lag("0/5", True, 7, 1.0), 1, "the slot may hold at most 9 B"),
        ({"max_bytes": 0, "max_messages": 5}, Lag("t 5", True, lag_messages=6), 1, "behind: at most 5 messages behind"),
        ({"max_bytes": 0, "max_messages": 5}, Lag("0/5", False, 0, 0.0, 1), 0, "up to date"),
    ],
)
def test_the_bounds_of_the_check(bounds: dict[str, Any], found: Lag, broken: int, said: str) -> None:
    wrong, text = compared(LagCheck(type="lag", **bounds), found)
    assert wrong == broken
    assert said in text


def test_a_wide_table_is_requested_for_the_parts_that_are_behind(tmp_path: Path, tick: Tick, world: World) -> None:
    wide = "columns: {id: INT, a: INT, a_at: INT, b: INT, b_at: INT}\nprimary_key: id\nschedule: {on: changes}\n"
    wide += "checks: [{type: lag, max_messages: 5}]\nparts:\n"
    for part in "ab":
        wide += f"  {part}: {{source: {{type: kafka, servers: 'k:1', topic: {part}, format: json}}, "
        wide += f"columns: {part}, order_by: {part}_at}}\n"
    made = small_lake(tmp_path / "lake")
    made.declare("wide.t", wide)
    settings = made.settings
    found = Lag.of_parts({"a": DOWN, "b": Lag("b 3", True, lag_messages=3)})
    world.answers = {"wide.t": found}
    ticked = tick(settings)
    (request,) = ticked.run_requests
    assert (request.job_name, request.run_key) == ("load__wide_t", "wide.t@b b 3@the first")
    (event,) = ticked.asset_events
    assert (event.passed, event.metadata["paimon/b_lag_messages"].value) == (False, 3)
    assert event.description == f"part a: cannot be evaluated: {DOWN}; part b: 3 messages behind"
    world.answers = {"wide.t": Lag.of_parts({"a": DOWN, "b": Lag("b 3", False, lag_messages=0)})}
    assert tick(settings).skip_message == f"wide.t: part a: the lag is not known: {DOWN}; part b: up to date"

"""The sensor of files: what it requests for new, late and changed files, and what it reads."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pytest

from paimon_dagster.factories.loads import RANGE_END, RANGE_START
from paimon_dagster.lake import build_definitions
from paimon_dagster.sensors import file_sensor
from paimon_dagster.sensors.file_requests import TickResult, decide, listed
from paimon_lake.declarations import Settings
from paimon_lake.loads.ledger.ledger import Ledger
from paimon_lake.loads.ledger.load_properties import load_user
from paimon_lake.loads.ledger.load_snapshot import FILES, TOTAL
from paimon_lake.loads.ledger.loaded_files import LoadedFiles
from paimon_lake.tables import open_table
from tests.support.declared_lakes import declared_lake

pytestmark = pytest.mark.filterwarnings("ignore::dagster.BetaWarning")

DAYS = "partitions: {by: day, start: 2024-01-01, end: 2024-01-31}\n"
ON_FILES = "schedule: {on: files}\n"


def files_of(path: str, more: str = "") -> str:
    return f"source: {{type: files, path: '{path}'{more}}}\n{ON_FILES}"


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dg.DagsterInstance]:
    """One for all tests: each of them leaves no run in it."""
    with dg.DagsterInstance.local_temp(str(tmp_path_factory.mktemp("instance"))) as opened:
        yield opened


Tick = Callable[[Settings, str | None], Any]  # SensorExecutionData is not public


@pytest.fixture
def tick(instance: dg.DagsterInstance) -> Tick:
    def evaluate(settings: Settings, cursor: str | None = None) -> Any:
        definitions = build_definitions(settings)
        repository = definitions.get_repository_def()
        lake = definitions.resources["lake"]  # type: ignore[index]
        with dg.build_sensor_context(
            instance_ref=instance.get_ref(), cursor=cursor, resources={"lake": lake}, repository_def=repository
        ) as context:
            return definitions.resolve_sensor_def("files").evaluate_tick(context)

    return evaluate


def put(settings: Settings, name: str, text: str = "id\n1\n") -> Path:
    path = settings.folder / "data" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


def load(settings: Settings, name: str) -> None:
    """Commit what a load of all files would commit."""
    spec, table = settings.table(name), open_table(settings, name, create=True)
    loaded = LoadedFiles().with_files((file.ledger_name, file.version) for file in listed(settings, spec))
    properties = {FILES: loaded.to_text(), TOTAL: str(len(loaded.versions))}
    table.commit([], user=load_user(name), identifier=1, properties=properties)


def test_each_day_with_new_files_is_one_run_until_it_is_loaded(tmp_path: Path, tick: Tick) -> None:
    settings = declared_lake(tmp_path / "lake", {"ods.t": files_of("data/{date}.csv") + DAYS})
    assert tick(settings, None).skip_message == "no new files"
    put(settings, "2024-01-02.csv")
    put(settings, "2024-01-03.csv")
    first = tick(settings, None)
    assert [request.partition_key for request in first.run_requests or []] == ["2024-01-02", "2024-01-03"]
    assert {request.job_name for request in first.run_requests or []} == {"load__ods_t"}
    again = tick(settings, None)
    assert [r.run_key for r in again.run_requests or []] == [r.run_key for r in first.run_requests or []]
    after = tick(settings, first.cursor)
    assert not after.run_requests, "nothing changed since the tick before"
    assert after.skip_message == "ods.t: 2 runs requested; repeat a failed run by hand"
    load(settings, "ods.t")
    assert tick(settings, first.cursor).skip_message == "no new files"


def test_a_damaged_table_does_not_stop_the_others(tmp_path: Path, tick: Tick) -> None:
    declared = {"ods.a": files_of("data/*.csv"), "ods.b": files_of("data/*.csv"), "ods.c": files_of("data/*.csv")}
    settings = declared_lake(tmp_path / "lake", declared)
    put(settings, "a.csv")
    load(settings, "ods.a")
    load(settings, "ods.b")
    for path in Path(open_table(settings, "ods.a").location).glob("snapshot/snapshot-*"):
        path.write_text("{}")
    for path in Path(open_table(settings, "ods.b").location).glob("schema/schema-*"):
        path.write_text("{}")
    found = tick(settings, None)
    assert [request.tags["paimon/table"] for request in found.run_requests or []] == ["ods.c"]
    assert [json.loads(found.cursor or "")[name][1] for name in ("ods.a", "ods.b")] == [None, None], "look again"


def test_days_that_follow_each_other_share_a_run(tmp_path: Path, tick: Tick) -> None:
    table = files_of("data/{date}.csv") + DAYS + "backfill_per_run: 10\n"
    settings = declared_lake(tmp_path / "lake", {"ods.t": table})
    for day in (1, 2, 3, 5):
        put(settings, f"2024-01-0{day}.csv")
    one, other = tick(settings, None).run_requests or []
    assert (one.tags[RANGE_START], one.tags[RANGE_END]) == ("2024-01-01", "2024-01-03")
    assert other.partition_key == "2024-01-05"


def test_a_table_without_partitions_is_one_run(tmp_path: Path, tick: Tick) -> None:
    settings = declared_lake(tmp_path / "lake", {"ods.t": files_of("data/*.csv")})
    put(settings, "a.csv")
    put(settings, "b.csv")
    (request,) = tick(settings, None).run_requests or []
    assert request.partition_key is None
    load(settings, "ods.t")
    put(settings, "c.csv")
    (other,) = tick(settings, None).run_requests or []
    assert other.run_key != request.run_key


def test_dynamic_partitions_are_added(tmp_path: Path, tick: Tick) -> None:
    settings = declared_lake(tmp_path / "lake", {"ods.t": files_of("data/{shop}.csv") + "partitions: dynamic\n"})
    put(settings, "berlin.csv")
    found = tick(settings, None)
    assert [request.partition_key for request in found.run_requests or []] == ["berlin"]
    (added,) = found.dynamic_partitions_requests or []
    assert (added.partitions_def_name, list(added.partition_keys)) == ("ods_t", ["berlin"])


def test_files_of_a_day_that_does_not_exist_yet_wait(tmp_path: Path, tick: Tick) -> None:
    endless = "partitions: {by: day, start: 2024-01-01}\n"
    settings = declared_lake(tmp_path / "lake", {"ods.t": files_of("data/{date}.csv") + endless})
    put(settings, "9000-02-01.csv")
    found = tick(settings, None)
    assert not found.run_requests
    assert "files wait for a partition that does not exist yet: 9000-02-01" in (found.skip_message or "")
    assert json.loads(found.cursor)["ods.t"][1] is None, "the next tick looks again"


def test_files_outside_of_the_declared_days_are_told_and_wait_for_nothing(tmp_path: Path, tick: Tick) -> None:
    settings = declared_lake(tmp_path / "lake", {"ods.t": files_of("data/{date}.csv") + DAYS})
    paths = [str(put(settings, f"{day}.csv")) for day in ("2023-12-31", "2024-02-01")]
    found = tick(settings, None)
    told = f"files outside of the declared partitions, which are not loaded, 2: {', '.join(paths)}"
    assert found.skip_message == f"ods.t: {told}"
    assert json.loads(found.cursor)["ods.t"][1] is not None


def test_late_and_changed_files_are_told_and_kept_in_the_cursor(tmp_path: Path, tick: Tick) -> None:
    settings = declared_lake(
        tmp_path / "lake", {"ods.t": files_of("data/{date}-{date:%Y}-*.csv", ", late: tell") + DAYS}
    )
    changed = put(settings, "2024-01-02-2024-a.csv")
    load(settings, "ods.t")
    put(settings, "2024-01-02-2024-b.csv")
    changed.write_text("id\n1\n2\n")
    found = tick(settings, None)
    assert not found.run_requests
    assert "late files: " in (found.skip_message or "")
    assert "2024-01-02-2024-b.csv; changed files: " in (found.skip_message or "")
    assert tick(settings, found.cursor).skip_message == found.skip_message


@pytest.mark.parametrize(("rule", "requests"), [("tell", 0), ("load", 1), ("fail", 1)])
def test_a_changed_file_is_requested_where_its_load_would_do_something(
    tmp_path: Path, tick: Tick, rule: str, requests: int
) -> None:
    settings = declared_lake(tmp_path / "lake", {"ods.t": files_of("data/*.csv", f", changed: {rule}")})
    path = put(settings, "a.csv")
    load(settings, "ods.t")
    path.write_text("id\n1\n2\n")
    assert len(tick(settings, None).run_requests or []) == requests


def test_nothing_is_requested_while_a_load_runs(tmp_path: Path, tick: Tick, instance: dg.DagsterInstance) -> None:
    settings = declared_lake(tmp_path / "lake", {"ods.t": files_of("data/*.csv")})
    put(settings, "a.csv")
    job = build_definitions(settings).resolve_job_def("load__ods_t")
    run = instance.create_run_for_job(job, status=dg.DagsterRunStatus.STARTED)
    found = tick(settings, None)
    assert found.skip_message == "ods.t: a load is queued or running"
    instance.delete_run(run.run_id)
    assert len(tick(settings, found.cursor).run_requests or []) == 1


def test_a_source_that_cannot_be_listed_stops_no_other_table(tmp_path: Path, tick: Tick) -> None:
    tables = {"ods.bad": files_of("data/{date}/{month}.csv"), "ods.good": files_of("data/*.csv")}
    settings = declared_lake(tmp_path / "lake", tables)
    put(settings, "a.csv")
    found = tick(settings, None)
    assert [request.job_name for request in found.run_requests or []] == ["load__ods_good"]
    told, state, *_ = json.loads(found.cursor)["ods.bad"]
    assert "cannot be combined" in told
    assert state is None


def test_the_ledger_is_read_only_when_something_changed(
    tmp_path: Path, tick: Tick, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = declared_lake(tmp_path / "lake", {"ods.t": files_of("data/*.csv")})
    path = put(settings, "a.csv")
    load(settings, "ods.t")
    cursor = tick(settings, None).cursor
    monkeypatch.setattr(file_sensor, "read_ledger", lambda table: pytest.fail("the ledger was read"))
    assert tick(settings, cursor).skip_message == "no new files"
    monkeypatch.undo()
    os.utime(path, (1, 1))
    assert "changed files" in (tick(settings, cursor).skip_message or "")


def test_lost_rows_are_told_and_nothing_is_requested(tmp_path: Path, tick: Tick) -> None:
    settings = declared_lake(tmp_path, {"d.t": files_of("data/{date}.csv") + DAYS})
    put(settings, "2024-01-01.csv")
    load(settings, "d.t")
    table = open_table(settings, "d.t")
    loaded = LoadedFiles({b"12345678": b"1234"}).to_text()
    table.write(pa.table({"id": [1]}), user=load_user("d.t"), identifier=2, properties={FILES: loaded, TOTAL: "2"})
    for file in Path(table.location).rglob("data-*.parquet"):
        file.unlink()
    table.maintenance.apply(table.maintenance.plan_missing_removal())
    put(settings, "2024-01-02.csv")
    data = tick(settings, None)
    assert data.run_requests == []
    assert "d.t: 1 row lost: snapshot 3 removed missing data files" in (data.skip_message or "")


def test_files_are_requested_again_after_a_rollback(tmp_path: Path, tick: Tick) -> None:
    settings = declared_lake(tmp_path / "lake", {"ods.t": files_of("data/*.csv")})
    table = open_table(settings, "ods.t", create=True)
    table.commit([], user="another", identifier=1)
    put(settings, "a.csv")
    first = tick(settings, None)
    load(settings, "ods.t")
    second = tick(settings, first.cursor)
    assert second.skip_message == "no new files"
    table.rollback(snapshot=1)
    third = tick(settings, second.cursor)
    keys = [[request.run_key for request in found.run_requests or []] for found in (first, third)]
    assert [len(found) for found in keys] == [1, 1]
    assert keys[0] != keys[1], "Dagster runs a key once"


def test_more_runs_than_a_tick_may_request_follow_later(tmp_path: Path) -> None:
    settings = declared_lake(tmp_path / "lake", {"ods.t": files_of("data/{date}.csv") + DAYS})
    for day in (1, 2, 3):
        put(settings, f"2024-01-0{day}.csv")
    spec = settings.table("ods.t")
    partitions = dg.DailyPartitionsDefinition("2024-01-01", end_date="2024-02-01")

    def look(room: int) -> TickResult:
        return decide(spec, listed(settings, spec), Ledger(), partitions, "state", room)

    assert [len(look(room).requests) for room in (2, 3)] == [2, 3]
    assert [look(room).state for room in (2, 3)] == [None, "state"]

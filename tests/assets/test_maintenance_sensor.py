"""A lake that is maintained by cost: the sensor requests rounds, the job and the nightly job do them."""

import datetime
import json
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pyarrow as pa
import pytest
from dagster import DagsterRunStatus

from paimon_core.metadata import clock
from paimon_dagster.lake import build_definitions
from paimon_lake.declarations import Settings
from paimon_lake.tables import open_lake, open_table
from tests.support.declared_lakes import declared_lake

pytestmark = pytest.mark.filterwarnings("ignore::dagster.BetaWarning")

HOUR = 3_600_000
ROWS = pa.table({"id": [1], "day": [datetime.date(2024, 1, 1)], "name": ["a"]})
TEXT = "options: {bucket: '1', write-only: 'true'}\n"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    found = declared_lake(
        tmp_path / "lake",
        {"ods.a": TEXT, "ods.b": TEXT},
        "warehouse: warehouse\nmaintenance: {mode: cost, bytes: 1000000, interval: 1 h}\n",
    )
    for name, commits in (("ods.a", 4), ("ods.b", 1)):
        for _ in range(commits):
            open_table(found, name, create=True).write(ROWS)
    return found


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as opened:
        yield opened


@pytest.fixture
def definitions(settings: Settings) -> dg.Definitions:
    return build_definitions(settings)


@pytest.fixture
def hours(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """The hours that have passed."""
    start, passed = clock.now_millis(), [0.0]
    monkeypatch.setattr(clock, "now_millis", lambda now=None: start + int(passed[0] * HOUR) if now is None else now)
    return passed


def tick(definitions: dg.Definitions, instance: dg.DagsterInstance, cursor: str | None) -> tuple[list[str], str, str]:
    """Return the jobs that are requested, the reason if there are none, and the cursor."""
    lake = definitions.resources["lake"]  # type: ignore[index]
    with dg.build_sensor_context(instance=instance, cursor=cursor, resources={"lake": lake}) as context:
        found = definitions.resolve_sensor_def("compaction").evaluate_tick(context)
    return [str(r.job_name) for r in found.run_requests or []], found.skip_message or "", found.cursor or ""


def run(definitions: dg.Definitions, instance: dg.DagsterInstance, job: str) -> dg.ExecuteInProcessResult:
    return definitions.resolve_job_def(job).execute_in_process(instance=instance, raise_on_error=False)


def test_rounds_are_requested_when_work_is_worth_its_cost(
    definitions: dg.Definitions, instance: dg.DagsterInstance, settings: Settings, hours: list[float]
) -> None:
    asked, _, cursor = tick(definitions, instance, None)
    assert asked == ["maintain"]
    asked, why, cursor = tick(definitions, instance, cursor)
    assert (asked, why) == ([], "the next round may begin in 3600 seconds")
    done = run(definitions, instance, "maintain")
    assert done.success
    (observation,) = done.asset_observations_for_node("maintain_lake")
    assert observation.asset_key == dg.AssetKey(["ods", "a"])
    assert observation.metadata["paimon/step"].value == "maintain"
    assert len(open_table(settings, "ods.a").inspect.files()) == 1
    snapshot = open_table(settings, "ods.a").latest_snapshot()
    assert snapshot is not None
    assert snapshot.properties["dagster.run-id"] == done.dagster_run.run_id
    assert open_lake(settings).system_table("sys.maintenance").to_arrow().num_rows == 1
    hours[0] = 1.1
    asked, why, cursor = tick(definitions, instance, cursor)
    assert (asked, why.startswith("MaintenancePlan(chosen=0")) == ([], True)
    asked, why, cursor = tick(definitions, instance, cursor)
    assert (asked, why) == ([], "no table has changed since nothing was worth its cost")
    for _ in range(3):
        open_table(settings, "ods.b").write(ROWS)
    assert tick(definitions, instance, cursor)[0] == ["maintain"]


def test_no_second_round_beside_one_that_runs(
    definitions: dg.Definitions, instance: dg.DagsterInstance, settings: Settings
) -> None:
    job = definitions.resolve_job_def("maintain")
    instance.create_run_for_job(job, status=DagsterRunStatus.STARTED)
    asked, why, cursor = tick(definitions, instance, None)
    assert (asked, why) == ([], "a round of maintenance is running")
    assert json.loads(cursor)["asked"] == 0


def test_a_damaged_table_fails_the_run_after_the_others_were_maintained(
    definitions: dg.Definitions, instance: dg.DagsterInstance, settings: Settings
) -> None:
    for path in Path(open_table(settings, "ods.b").location).glob("snapshot/snapshot-*"):
        path.write_text("{}")
    assert tick(definitions, instance, None)[0] == ["maintain"]
    done = run(definitions, instance, "maintain")
    assert not done.success
    assert len(open_table(settings, "ods.a").inspect.files()) == 1
    failure = next(e for e in done.all_events if e.is_step_failure)
    assert "maintenance was not complete: ods.b: corrupt-table" in str(failure.step_failure_data.error)


def test_the_nightly_job_ends_with_a_round(
    definitions: dg.Definitions, instance: dg.DagsterInstance, settings: Settings
) -> None:
    steps = {node.name for node in definitions.resolve_job_def("nightly").nodes}
    assert "maintain_nightly" in steps
    schedule = definitions.resolve_schedule_def("nightly_schedule")
    assert schedule.job_name == "nightly"
    simple = settings.model_copy(update={"maintenance": type(settings.maintenance)()})
    assert "maintain_nightly" not in {n.name for n in build_definitions(simple).resolve_job_def("nightly").nodes}


def test_only_the_chosen_tables_are_maintained(instance: dg.DagsterInstance, settings: Settings) -> None:
    definitions = build_definitions(settings, tables=["ods.b"])
    assert tick(definitions, instance, None)[0] == []
    assert run(definitions, instance, "maintain").success
    assert len(open_table(settings, "ods.a").inspect.files()) == 4

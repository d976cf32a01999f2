"""The sensor of stale partitions, and their asset check."""

import datetime
import json
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from paimon_core.metadata.commit_message import position_of
from paimon_dagster.factories.checks import asset_check_result
from paimon_dagster.lake import build_definitions
from paimon_lake.declarations import Settings, load_settings
from paimon_lake.loads.inputs.input_loads import STALE
from paimon_lake.loads.ledger.load_properties import PARTITIONS, load_user
from paimon_lake.loads.ledger.load_snapshot import INPUTS
from paimon_lake.steps.audits.audit import audit
from paimon_lake.tables import open_table

pytestmark = pytest.mark.filterwarnings("ignore::dagster.BetaWarning")

DAY = "columns: {day: DATE, id: BIGINT}\nnatural_key: [id]\npartition_by: [day]\n"
PARTS = "partitions: {by: day, start: 2024-01-01, end: 2024-01-31, column: day}\n"
COPY = "source: {type: sql, inputs: [ods.orders], query: SELECT * FROM ods.orders}\nschedule: {on: inputs}\n"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Orders of two days, and a table by day that was loaded for both before a row was added to the first.

    A third day changed too; the declaration no longer has it.
    """
    (tmp_path / "tables").mkdir()
    (tmp_path / "base.yaml").write_text("warehouse: warehouse\n")
    (tmp_path / "local.yaml").write_text("")
    (tmp_path / "tables" / "ods.orders.yaml").write_text(DAY + PARTS)
    (tmp_path / "tables" / "ods.days.yaml").write_text(DAY + PARTS + COPY)
    found = load_settings("local", configs=tmp_path)
    orders = open_table(found, "ods.orders", create=True)
    orders.write([{"day": datetime.date(2024, 1, n), "id": n} for n in (1, 2)])
    said = {
        PARTITIONS: json.dumps(["2024-01-01", "2024-01-02", "2024-02-05"]),
        INPUTS: json.dumps({"ods.orders": position_of(orders.latest_snapshot())}),
        STALE: "{}",
    }
    days = open_table(found, "ods.days", create=True)
    days.commit([], user=load_user("ods.days"), identifier=1, properties=said)
    orders.write([{"day": datetime.date(2024, 1, 1), "id": 3}, {"day": datetime.date(2024, 2, 5), "id": 4}])
    return found


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as opened:
        yield opened


def tick(instance: dg.DagsterInstance, settings: Settings, cursor: str | None = None) -> dg.SensorResult:
    definitions = build_definitions(settings)
    lake = definitions.resources["lake"]  # type: ignore[index]
    with dg.build_sensor_context(
        instance=instance, cursor=cursor, resources={"lake": lake}, repository_def=definitions.get_repository_def()
    ) as context:
        found = definitions.resolve_sensor_def("stale_partitions").evaluate_tick(context)
    return dg.SensorResult(run_requests=found.run_requests, cursor=found.cursor)


def test_a_partition_that_two_ticks_find_stale_is_requested_once(
    instance: dg.DagsterInstance, settings: Settings
) -> None:
    first = tick(instance, settings)
    assert (first.run_requests, json.loads(first.cursor or "")) == ([], {"ods.days": ["2024-01-01", "2024-02-05"]})
    (request,) = tick(instance, settings, first.cursor).run_requests or []
    assert (request.job_name, request.partition_key) == ("load__ods_days", "2024-01-01")
    (again,) = tick(instance, settings, first.cursor).run_requests or []
    assert request.run_key == again.run_key
    build_definitions(settings).resolve_job_def("load__ods_days")


def test_a_damaged_table_is_told_and_nothing_is_requested(instance: dg.DagsterInstance, settings: Settings) -> None:
    for path in Path(open_table(settings, "ods.days").location).glob("snapshot/snapshot-*"):
        path.write_text("{}")
    assert tick(instance, settings, '{"ods.days": ["2024-01-01"]}').run_requests == []


def test_stale_partitions_are_an_asset_check_that_warns(settings: Settings) -> None:
    (finding,) = audit(settings, "ods.days", ["stale"])
    result = asset_check_result(finding, dg.AssetKey(["ods", "days"]))
    assert (result.passed, result.severity, result.check_name) == (False, dg.AssetCheckSeverity.WARN, "stale")
    assert "partitions 2024-01-01, 2024-02-05" in str(result.description)
    keys = build_definitions(settings).resolve_asset_graph().asset_check_keys
    assert {key.asset_key.to_user_string() for key in keys if key.name == "stale"} == {"ods/days"}

"""Runs of a declared lake in this process: loads with Spark, checks, and what follows from rows that do not fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from pyspark.sql import SparkSession

from paimon_dagster import resources
from paimon_dagster.instance import open_instance
from paimon_dagster.lake import build_definitions
from paimon_dagster.resources import SparkResource
from paimon_lake.cli.new_lake import new_lake
from paimon_lake.declarations import Settings, load_settings
from paimon_lake.tables import open_table

pytestmark = pytest.mark.filterwarnings("ignore::dagster.BetaWarning", "ignore::ResourceWarning")

ORDERS, REVENUE = dg.AssetKey(["shop", "orders"]), dg.AssetKey(["shop", "revenue"])
RANGE = {"dagster/asset_partition_range_start": "2024-01-01", "dagster/asset_partition_range_end": "2024-01-03"}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """The example that a new lake begins with."""
    new_lake(tmp_path / "lake")
    return load_settings("local", configs=tmp_path / "lake")


@pytest.fixture
def instance(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[dg.DagsterInstance]:
    Path(settings.warehouse).mkdir()
    monkeypatch.setenv("DAGSTER_HOME", "")  # as it was after the test
    with open_instance(settings) as opened:
        yield opened


Run = Callable[..., dg.ExecuteInProcessResult]


@pytest.fixture
def run(settings: Settings, instance: dg.DagsterInstance, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setattr(resources, "start_session", lambda settings: spark)
    monkeypatch.setattr(SparkResource, "teardown_after_execution", lambda self, context: None)
    definitions = build_definitions(settings)

    def execute(*keys: dg.AssetKey, job: str | None = None, **more: Any) -> dg.ExecuteInProcessResult:
        found = definitions.resolve_job_def(job) if job else definitions.resolve_implicit_global_asset_job_def()
        selected = {"asset_selection": list(keys)} if keys else {}
        return found.execute_in_process(instance=instance, raise_on_error=False, **selected, **more)

    return execute


def test_a_new_lake_is_loaded_once_computed_and_checked(run: Run, settings: Settings) -> None:
    first, again, computed = run(ORDERS, tags=RANGE), run(ORDERS, tags=RANGE), run(REVENUE)
    assert [result.success for result in (first, again, computed)] == [True] * 3
    said, repeated = (
        result.get_asset_materialization_events()[0].step_materialization_data.materialization.metadata
        for result in (first, again)
    )
    assert (said["paimon/rows_read"].value, said["paimon/rows_rejected"].value) == (13, 1)
    assert (said["paimon/rows_written"].value, said["paimon/rows_merged"].value) == (12, 3), "of 13 read, 1 rejected"
    assert repeated["paimon/rows_written"].value == 0
    assert open_table(settings, "shop.orders").inspect.snapshots().num_rows == 1
    assert open_table(settings, "shop.revenue").scan().count() == 3
    audit = run(job="audit")
    assert audit.success
    checks = audit.get_asset_check_evaluations()
    assert {(c.asset_key.to_user_string(), c.check_name) for c in checks if not c.passed} == set()
    assert {c.check_name for c in checks if c.asset_key == ORDERS} == {
        *("rows", "keys", "files", "fsck", "health"),
        *("unique_order_id", "accepted_values_status", "row_count"),
    }


def test_a_blocking_check_stops_a_load_and_is_in_its_history(run: Run, settings: Settings) -> None:
    day = settings.folder / "data" / "orders" / "2024-01-01.csv"
    day.write_text(day.read_text().replace("paid", "payed"))
    result = run(ORDERS, tags=RANGE)
    assert not result.success
    assert result.get_asset_materialization_events() == []
    assert [event for event in result.all_events if event.is_step_up_for_retry] == []
    (check,) = result.get_asset_check_evaluations()
    assert (check.check_name, check.passed) == ("accepted_values_status", False)
    assert "payed" in (check.description or "")
    assert open_table(settings, "shop.orders").latest_snapshot() is None


@pytest.mark.long
def test_columns_of_a_query_have_lineage_also_after_a_load_that_was_left_out(
    run: Run, instance: dg.DagsterInstance
) -> None:
    assert run(ORDERS, tags=RANGE).success
    for _ in range(2):
        assert run(REVENUE).success
        event = instance.get_latest_materialization_event(REVENUE)
        assert event is not None
        assert event.asset_materialization is not None
        shown = event.asset_materialization.metadata["dagster/column_lineage"].value
        text = event.asset_materialization.metadata["paimon/column_lineage"].value
        assert "| revenue | shop.orders.amount |" in str(text)
        assert {name: [(d.asset_key, d.column_name) for d in deps] for name, deps in shown.deps_by_column.items()} == {
            "order_date": [(ORDERS, "order_date")],
            "revenue": [(ORDERS, "amount")],
        }


@pytest.mark.long
def test_maintenance_includes_the_table_of_rejects(run: Run, instance: dg.DagsterInstance) -> None:
    assert run(ORDERS, tags=RANGE).success
    for job, step in (("nightly", "expire"), ("sweep", "sweep")):
        done = run(job=job)
        assert done.success
        assert [o for o in done.get_asset_observation_events() if o.asset_key not in (ORDERS, REVENUE)] == []
        told = [entry.user_message for entry in instance.all_logs(done.run_id)]
        assert [line for line in told if line.startswith(f"{step} shop.orders__rejects: ")] != []


@pytest.mark.long
def test_single_checks_run_alone(run: Run, settings: Settings) -> None:
    definitions = build_definitions(settings)
    checks = {key for key in definitions.resolve_asset_graph().asset_check_keys if key.asset_key == ORDERS}
    job = definitions.resolve_implicit_global_asset_job_def()
    for names in ({"files"}, {"keys", "row_count"}):
        chosen = {key for key in checks if key.name in names}
        done = job.get_subset(asset_selection=set(), asset_check_selection=chosen).execute_in_process()
        assert {found.check_name for found in done.get_asset_check_evaluations()} == names

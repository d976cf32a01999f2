"""Events in batches: the same history as in Dagster's own storage."""

import os
from collections import Counter
from pathlib import Path

import dagster as dg
import pytest

from paimon_dagster.event_storage import BATCH, BATCH_SIZE

DAYS = dg.DailyPartitionsDefinition("2024-01-01", end_date="2024-01-08")
OWN = "event_log_storage: {module: paimon_dagster.event_storage, class: BatchedSqliteEvents}"


@dg.asset(partitions_def=DAYS)
def orders(context: dg.AssetExecutionContext) -> dg.MaterializeResult:
    return dg.MaterializeResult(metadata={"rows": 7})


@dg.asset_check(asset=orders)
def fine() -> dg.AssetCheckResult:
    return dg.AssetCheckResult(passed=True)


def history(home: Path, config: str, monkeypatch: pytest.MonkeyPatch) -> tuple[object, ...]:
    """What is known of two runs of some days in an instance with this configuration."""
    home.mkdir(exist_ok=True)
    (home / "dagster.yaml").write_text(f"telemetry: {{enabled: false}}\n{config}\n")
    monkeypatch.setenv("DAGSTER_HOME", str(home))
    with dg.DagsterInstance.from_config(str(home)) as instance:
        job = dg.Definitions([orders], asset_checks=[fine]).resolve_implicit_global_asset_job_def()
        counts = []
        for first, last in (("2024-01-01", "2024-01-05"), ("2024-01-03", "2024-01-06")):
            tags = {"dagster/asset_partition_range_start": first, "dagster/asset_partition_range_end": last}
            run = job.execute_in_process(instance=instance, tags=tags)
            counts.append(Counter(str(event.dagster_event_type) for event in instance.all_logs(run.run_id)))
        latest = instance.get_latest_materialization_event(orders.key)
        assert latest is not None
        record = instance.get_asset_records([orders.key])[0]
        counted = instance.get_materialized_partitions(orders.key)
        return counts, latest.get_dagster_event().partition, counted, record.asset_entry.last_run_id == run.run_id


def test_batches_are_the_same_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(BATCH, "0")
    one_by_one = history(tmp_path / "dagsters", "", monkeypatch)
    monkeypatch.delenv(BATCH)
    assert one_by_one[2] == set(DAYS.get_partition_keys()[:6])
    assert history(tmp_path / "ours", OWN, monkeypatch) == one_by_one
    assert os.environ[BATCH] == BATCH_SIZE
    monkeypatch.setenv(BATCH, "3")
    assert history(tmp_path / "threes", OWN, monkeypatch) == one_by_one


def test_dagsters_own_storage_opens_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(BATCH, BATCH_SIZE)
    history(tmp_path, OWN, monkeypatch)
    (tmp_path / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    with dg.DagsterInstance.from_config(str(tmp_path)) as instance:
        assert len(instance.get_materialized_partitions(orders.key)) == 6

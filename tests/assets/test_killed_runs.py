"""A demo that was killed: its runs end as failed, and what they held is free."""

from pathlib import Path

import dagster as dg
import pytest

from assets.demo.runs import DEMO, DemoFailed, alone, end_killed_runs

POOL = "paimon_write__shop_orders"


def test_the_pools_of_killed_runs_are_free_again() -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        job = dg.GraphDefinition(name="empty").to_job()
        killed = instance.create_run_for_job(job, tags={DEMO: "true"}, status=dg.DagsterRunStatus.STARTED)
        other = instance.create_run_for_job(job, status=dg.DagsterRunStatus.STARTED)
        storage = instance.event_log_storage
        storage.set_concurrency_slots(POOL, 1)
        assert storage.claim_concurrency_slot(POOL, killed.run_id, "load").is_claimed
        end_killed_runs(instance)
        assert storage.claim_concurrency_slot(POOL, other.run_id, "load").is_claimed
        statuses = {run.run_id: run.status for run in instance.get_runs()}
        assert statuses == {
            killed.run_id: dg.DagsterRunStatus.FAILURE,
            other.run_id: dg.DagsterRunStatus.STARTED,
        }


def test_two_demos_of_one_lake_are_refused(tmp_path: Path) -> None:
    with (
        alone(tmp_path),
        pytest.raises(DemoFailed, match=r"another demo runs on this lake: it holds .*demo\.lock"),
        alone(tmp_path),
    ):
        pass
    with alone(tmp_path):
        pass

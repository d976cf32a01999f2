from datetime import UTC, datetime

import dagster as dg
import pytest

from assets.definitions import build_definitions
from pipelines.lake import load_settings

pytestmark = pytest.mark.filterwarnings("ignore::dagster.BetaWarning")


def test_the_tag_is_named_after_the_scheduled_day() -> None:
    definitions = build_definitions(load_settings("local"))
    schedule = definitions.resolve_schedule_def("nightly_schedule")
    late = datetime(2013, 12, 31, 8, 0, tzinfo=UTC)
    with dg.build_schedule_context(scheduled_execution_time=late) as context:
        (request,) = schedule.evaluate_tick(context).run_requests or []
    assert request.run_key == "nightly-2013-12-31"
    ops = request.run_config["ops"]
    assert ops["tag__ods_flights"]["config"]["tag"] == "nightly-2013-12-31"
    assert set(ops) == {
        f"{what}__{name.replace('.', '_')}" for what in ("tag", "expire") for name in load_settings("local").tables
    }
    assert dg.validate_run_config(definitions.resolve_job_def("nightly"), request.run_config)


def test_a_sweep_is_asked_for_once_a_day_at_most() -> None:
    definitions = build_definitions(load_settings("local"))
    schedule = definitions.resolve_schedule_def("sweep_schedule")
    sunday = datetime(2013, 12, 29, 9, 0, tzinfo=UTC)
    with dg.build_schedule_context(scheduled_execution_time=sunday) as context:
        (request,) = schedule.evaluate_tick(context).run_requests or []
    assert request.run_key == "sweep-2013-12-29"
    assert set(definitions.resolve_job_def("sweep").graph.node_dict) == {
        f"sweep__{name.replace('.', '_')}" for name in load_settings("local").tables
    }


def test_tagging_comes_before_expiry() -> None:
    job = build_definitions(load_settings("local")).resolve_job_def("nightly")
    upstream = {
        node.name: inputs["start"].get_node_dependencies() for node, inputs in job.dependencies.items() if inputs
    }
    for name in load_settings("local").tables:
        ident = name.replace(".", "_")
        assert [d.node for d in upstream[f"expire__{ident}"]] == [f"tag__{ident}"]

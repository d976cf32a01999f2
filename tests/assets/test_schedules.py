from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from paimon_dagster.factories.maintenance import day_of
from paimon_dagster.lake import build_definitions
from tests.support.declared_lakes import declared_lake

pytestmark = pytest.mark.filterwarnings("ignore::dagster.BetaWarning")


@pytest.fixture
def definitions(tmp_path: Path) -> dg.Definitions:
    return build_definitions(declared_lake(tmp_path / "lake", {"ods.a": "", "dim.b": ""}))


def requested(definitions: dg.Definitions, schedule: str, at: datetime) -> Any:
    with dg.build_schedule_context(scheduled_execution_time=at) as context:
        (request,) = definitions.resolve_schedule_def(schedule).evaluate_tick(context).run_requests or []
    return request


def test_the_tag_is_named_after_the_scheduled_day(definitions: dg.Definitions) -> None:
    request = requested(definitions, "nightly_schedule", datetime(2013, 12, 31, 8, 0, tzinfo=UTC))
    assert request.run_key == "nightly-2013-12-31T08:00"
    ops = request.run_config["ops"]
    assert ops["tag__ods_a"]["config"]["tag"] == "nightly-2013-12-31"
    assert set(ops) == {"tag__ods_a", "expire__ods_a", "tag__dim_b", "expire__dim_b"}
    assert dg.validate_run_config(definitions.resolve_job_def("nightly"), request.run_config)


def test_by_hand_the_day_is_that_of_the_schedule(tmp_path: Path) -> None:
    base = "warehouse: warehouse\ndagster: {nightly_timezone: America/New_York}\n"
    settings = declared_lake(tmp_path / "other", {"ods.a": ""}, base)
    assert day_of(settings, datetime(2014, 1, 1, 3, 0, tzinfo=UTC)) == "2013-12-31"


def test_a_sweep_is_asked_for_once_at_each_time(definitions: dg.Definitions) -> None:
    request = requested(definitions, "sweep_schedule", datetime(2013, 12, 29, 9, 0, tzinfo=UTC))
    assert request.run_key == "sweep-2013-12-29T09:00"
    assert set(definitions.resolve_job_def("sweep").graph.node_dict) == {"sweep__ods_a", "sweep__dim_b"}


def test_tagging_comes_before_expiry(definitions: dg.Definitions) -> None:
    job = definitions.resolve_job_def("nightly")
    upstream = {
        node.name: inputs["start"].get_node_dependencies() for node, inputs in job.dependencies.items() if inputs
    }
    for ident in ("ods_a", "dim_b"):
        assert [d.node for d in upstream[f"expire__{ident}"]] == [f"tag__{ident}"]

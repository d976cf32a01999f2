"""A wide table in Dagster: one asset with the sources of all parts; a failed part fails the step."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import dagster as dg
import pytest

from paimon_dagster import resources
from paimon_dagster.factories.tables import dependencies
from paimon_dagster.instance import open_instance
from paimon_dagster.lake import build_definitions
from paimon_dagster.resources import SparkResource
from paimon_lake.loads import write_tasks
from tests.support.lakes import SmallLake, small_lake
from tests.support.tasks import in_this_process

pytestmark = pytest.mark.filterwarnings("ignore::dagster.BetaWarning", "ignore::ResourceWarning")
KEY = dg.AssetKey(["d", "wide"])
WIDE = """
    columns: {id: BIGINT, a: INT, a_at: INT, b: INT, b_at: INT}
    primary_key: id
    parts:
      first: {source: {type: files, path: "a/*.csv"}, columns: a, order_by: a_at}
      second: {source: {type: files, path: "b/*.csv"}, columns: b, order_by: b_at}
    checks: [{type: parts_complete, max_wait: 2 h}]
"""


@pytest.fixture
def lake(tmp_path: Path) -> SmallLake:
    made = small_lake(tmp_path / "lake")
    made.declare("d.wide", WIDE)
    made.file("a/1.csv", "id,a,a_at\n1,2,3\n")
    made.file("b/1.csv", "id,b,b_at\n1,x,3\n")
    return made


def test_the_asset_depends_on_the_sources_of_all_parts(lake: SmallLake) -> None:
    definitions = build_definitions(lake.settings)
    (spec,) = definitions.resolve_assets_def(KEY).specs
    names = {dep.asset_key.to_user_string() for dep in spec.deps}
    assert names == {"source/d/wide/first", "source/d/wide/second"}
    assert names <= {key.to_user_string() for key in definitions.resolve_all_asset_keys()}


@pytest.mark.parametrize("by", ["day", "month"])
@pytest.mark.parametrize(("reads", "looks_up"), [("a", "b"), ("b", "a")])
def test_the_asset_depends_on_all_of_a_looked_up_table(lake: SmallLake, by: str, reads: str, looks_up: str) -> None:
    partitions = "partitions: {by: %s, start: 2013-01-01}"
    lake.declare("d.names", f"columns: {{id: BIGINT, b: INT}}\nprimary_key: id\n{partitions % by}")
    lookup = f"lookup: [{{table: d.names, on: {{id: id}}, columns: {{{looks_up}: b}}}}]"
    query = "{type: sql, inputs: [d.names], query: SELECT 1}"
    text = WIDE.replace(f'{{type: files, path: "{reads}/*.csv"}}', query).replace('csv"}', f'csv", {lookup}}}')
    lake.declare("d.wide", f"{text}    {partitions % 'month'}")
    _, names = dependencies(lake.settings, lake.settings.table("d.wide"))
    assert isinstance(names, dg.AssetDep)
    assert names.asset_key == dg.AssetKey(["d", "names"])
    assert isinstance(names.partition_mapping, dg.AllPartitionMapping), "one part reads a month, and one all rows"


def test_a_failed_part_fails_the_step_and_the_others_stay(lake: SmallLake, monkeypatch: pytest.MonkeyPatch) -> None:
    session = SimpleNamespace(sparkContext=SimpleNamespace(defaultParallelism=2))
    monkeypatch.setattr(resources, "start_session", lambda settings: session)
    monkeypatch.setattr(SparkResource, "teardown_after_execution", lambda self, context: None)
    monkeypatch.setattr(write_tasks, "collect_tasks", in_this_process)
    monkeypatch.setenv("DAGSTER_HOME", "")
    Path(lake.settings.warehouse).mkdir()
    job = build_definitions(lake.settings).resolve_implicit_global_asset_job_def()
    with open_instance(lake.settings) as instance:

        def run() -> dg.ExecuteInProcessResult:
            return job.execute_in_process(instance=instance, raise_on_error=False, asset_selection=[KEY])

        failed = run()
        assert not failed.success
        (event,) = [event for event in failed.all_events if event.is_step_failure]
        assert "part second failed" in str(event.step_failure_data.user_failure_data.description)
        assert len(failed.get_asset_materialization_events()) == 1, "the other part is committed"
        assert lake.rows("d.wide") == [(1, 2, 3, None, None)]
        lake.file("b/1.csv", "id,b,b_at\n1,4,3\n")
        done = run()
        assert done.success
        (event,) = done.get_asset_materialization_events()
        metadata = event.step_materialization_data.materialization.metadata
        assert metadata["paimon/part_first"].value == "1 files loaded before"
        assert metadata["paimon/part_second"].value == "1 rows written in snapshot 2"
        assert lake.rows("d.wide") == [(1, 2, 3, 4, 3)]

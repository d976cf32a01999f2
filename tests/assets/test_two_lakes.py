"""A code location with two lakes of the same tables, and with resources, jobs and an executor of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import dagster as dg
import pytest
from dagster.components.testing.utils import create_defs_folder_sandbox

from paimon_dagster import resources
from paimon_dagster.component import PaimonLake
from paimon_dagster.lake import build_definitions
from paimon_dagster.resources import SparkResource
from paimon_dagster.translator import PaimonTranslator
from paimon_lake.declarations import SettingsError, TableSpec, load_settings
from paimon_lake.loads import write_tasks
from paimon_lake.tables import open_table
from tests.support.declared_lakes import declared_lake
from tests.support.tasks import in_this_process

pytestmark = [
    pytest.mark.filterwarnings("ignore::dagster.BetaWarning"),
    # Dagster reads defs.yaml with an old function of pydantic.
    pytest.mark.filterwarnings("ignore:.*parse_obj_as.*:DeprecationWarning"),
]
OWN = """
import dagster as dg

@dg.op(required_resource_keys={"spark", "lake"})
def merge_runs__shop_orders(context):
    assert (context.resources.spark, context.resources.lake) == ("own spark", "own lake")

@dg.job
def nightly():
    merge_runs__shop_orders()

@dg.asset
def own_asset(): ...

@dg.asset_check(asset=own_asset)
def own_check():
    return dg.AssetCheckResult(passed=False)

@dg.sensor(job=nightly)
def compaction():
    return dg.SkipReason("none")

@dg.definitions
def defs():
    return dg.Definitions(
        jobs=[nightly],
        assets=[own_asset],
        asset_checks=[own_check],
        sensors=[compaction],
        schedules=[dg.ScheduleDefinition(job=nightly, cron_schedule="0 3 * * *")],
        resources={"spark": "own spark", "lake": "own lake"},
        executor=dg.multiprocess_executor,
    )
"""


@pytest.fixture(scope="module")
def project() -> Iterator[tuple[dg.Definitions, Path]]:
    """The definitions of the project, and its folder ``defs``."""
    with create_defs_folder_sandbox() as sandbox:
        sandbox.scaffold_component(component_cls=PaimonLake, defs_path="shop")
        sandbox.scaffold_component(
            component_cls=PaimonLake,
            defs_path="branches/north-west",
            defs_yaml_contents={
                "type": "paimon_dagster.component.PaimonLake",
                "attributes": {"configs": "lake", "key_prefix": "north"},
            },
        )
        (sandbox.defs_folder_path / "own.py").write_text(OWN)
        with sandbox.build_all_defs() as definitions:
            yield definitions, sandbox.defs_folder_path


def test_both_lakes_and_own_definitions_are_in_one_code_location(project: tuple[dg.Definitions, Path]) -> None:
    definitions, _ = project
    dg.Definitions.validate_loadable(definitions)
    one = {"source/shop/orders", "shop/orders", "shop/revenue"}
    keys = {key.to_user_string() for key in definitions.resolve_all_asset_keys()}
    health = {"shop/health", "north/branches__north_west/health"}
    assert keys == {"own_asset", *health, *one, *(f"north/{key}" for key in one)}
    repository = definitions.get_repository_def()
    jobs = {job.name for job in definitions.resolve_all_job_defs() if not job.name.startswith("__")}
    own = {"compact__shop_orders", "compact__shop_revenue", "nightly", "sweep", "maintain", "doctor", "audit"}
    own |= {"health", "sort", "rescale", "expire", "tag", "branch", "delete", "rollback", "reload"}
    assert jobs == {"nightly", *(f"{lake}_{name}" for lake in ("shop", "branches__north_west") for name in own)}
    assert {sensor.name for sensor in repository.sensor_defs} == {
        *("compaction", "shop_compaction", "branches__north_west_compaction"),
        *("shop_commits", "branches__north_west_commits"),
    }
    assert set(definitions.resources or {}) == {
        *("spark", "lake", "shop_spark", "shop_lake", "branches__north_west_spark", "branches__north_west_lake")
    }


def test_the_executor_of_the_project_stays_and_jobs_of_a_lake_are_one_process(
    project: tuple[dg.Definitions, Path],
) -> None:
    definitions, _ = project
    assert definitions.resolve_job_def("nightly").executor_def is dg.multiprocess_executor
    for job in ("nightly", "sweep", "audit", "compact__shop_orders"):
        assert definitions.resolve_job_def(f"shop_{job}").executor_def is dg.in_process_executor


def test_the_jobs_of_the_project_get_its_own_resources(project: tuple[dg.Definitions, Path]) -> None:
    definitions, _ = project
    assert definitions.resolve_job_def("nightly").execute_in_process().success


def test_the_audit_of_a_lake_checks_only_its_own_tables(project: tuple[dg.Definitions, Path]) -> None:
    definitions, _ = project
    audit = definitions.resolve_job_def("branches__north_west_audit")
    checked = {key.asset_key.to_user_string() for key in audit.asset_layer.asset_graph.asset_check_keys}
    assert checked == {"north/shop/orders", "north/shop/revenue"}


def test_a_load_runs_in_its_own_lake(project: tuple[dg.Definitions, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    definitions, defs = project
    monkeypatch.setattr(write_tasks, "collect_tasks", in_this_process)
    session = SimpleNamespace(sparkContext=SimpleNamespace(defaultParallelism=1), stop=lambda: None)
    monkeypatch.setattr(resources, "start_session", lambda settings: session)
    job = definitions.resolve_implicit_global_asset_job_def()
    key = dg.AssetKey(["north", "shop", "orders"])
    with dg.DagsterInstance.ephemeral() as instance:
        result = job.execute_in_process(instance=instance, asset_selection=[key], partition_key="2024-01-01")
    assert result.success
    assert {event.step_key for event in result.all_events if event.is_step_event} == {
        *("branches__north_west_north__shop__orders", "branches__north_west_check__shop_orders")
    }
    loaded = load_settings("local", configs=defs / "branches" / "north-west" / "lake")
    assert open_table(loaded, "shop.orders").scan().count() == 4
    assert not (defs / "shop" / "lake" / "warehouse").exists()


def test_names_of_pools_dynamic_partitions_and_requests_begin_with_the_name(tmp_path: Path) -> None:
    table = "source: {type: files, path: 'data/{shop}.csv'}\npartitions: dynamic\nschedule: {on: files}\n"
    settings = declared_lake(tmp_path / "lake", {"ods.t": table})
    (settings.folder / "data").mkdir()
    (settings.folder / "data" / "a.csv").write_text("id,day,name\n1,2024-01-01,x\n")
    definitions = build_definitions(settings, name="two")
    asset = definitions.resolve_assets_def(dg.AssetKey(["ods", "t"]))
    assert asset.op.pool == "two_paimon_write__ods_t"
    assert isinstance(asset.partitions_def, dg.DynamicPartitionsDefinition)
    assert asset.partitions_def.name == "two_ods_t"
    resources = {"two_lake": (definitions.resources or {})["two_lake"]}
    with (
        dg.DagsterInstance.local_temp(str(tmp_path)) as instance,
        dg.build_sensor_context(
            instance_ref=instance.get_ref(), resources=resources, repository_def=definitions.get_repository_def()
        ) as context,
    ):
        tick = definitions.resolve_sensor_def("two_files").evaluate_tick(context)
    assert [request.job_name for request in tick.run_requests or []] == ["two_load__ods_t"]
    assert [request.partitions_def_name for request in tick.dynamic_partitions_requests or []] == ["two_ods_t"]


def test_a_subclass_keeps_its_own_names(tmp_path: Path) -> None:
    class Own(PaimonTranslator):
        name = "own"

        def asset_key(self, spec: TableSpec) -> dg.AssetKey:
            return dg.AssetKey([*self.key_prefix, "t", spec.ident])

    settings = declared_lake(tmp_path / "lake", {"ods.t": ""})
    own, other = build_definitions(settings, Own()), build_definitions(settings, Own(), name="other", key_prefix=["k"])
    assert own.resolve_job_def("own_nightly")
    assert isinstance((other.resources or {})["other_spark"], SparkResource)
    assert {key.to_user_string() for key in other.resolve_all_asset_keys()} == {"k/other/health", "k/t/ods_t"}


@pytest.mark.parametrize(("name", "key_prefix"), [("my shop", ()), ("shop", ["a/b"]), ("größe", ())])
def test_names_that_dagster_does_not_take_are_one_sentence(tmp_path: Path, name: str, key_prefix: list[str]) -> None:
    with pytest.raises(SettingsError, match="is no name: Dagster takes only"):
        build_definitions(declared_lake(tmp_path / "lake", {}), name=name, key_prefix=key_prefix)

import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest

from assets.definitions import build_definitions
from pipelines.lake import ROOT, Settings, environments, load_settings

pytestmark = pytest.mark.filterwarnings("ignore::dagster.BetaWarning")

TABLES = sorted(load_settings("local").tables)


@pytest.fixture(scope="module")
def settings() -> Settings:
    return load_settings("local", warehouse="/nowhere/lake")


@pytest.fixture(scope="module")
def definitions(settings: Settings) -> dg.Definitions:
    return build_definitions(settings)


@pytest.mark.parametrize("environment", environments())
def test_definitions_load_for_each_environment(environment: str) -> None:
    found = build_definitions(load_settings(environment))
    dg.Definitions.validate_loadable(found)


def test_every_table_is_an_asset_with_checks_and_a_compaction_job(definitions: dg.Definitions) -> None:
    assets = {key.to_user_string() for key in definitions.resolve_all_asset_keys()}
    assert assets == {"source/nycflights13", *(name.replace(".", "/") for name in TABLES)}
    graph = definitions.resolve_asset_graph()
    checks = {(key.asset_key.to_user_string(), key.name) for key in graph.asset_check_keys}
    assert checks == {(name.replace(".", "/"), audit) for name in TABLES for audit in ("rows", "keys", "files", "fsck")}
    jobs = {job.name for job in definitions.resolve_all_job_defs()}
    assert {f"compact__{name.replace('.', '_')}" for name in TABLES} | {"nightly", "sweep", "audit"} <= jobs


def test_partitions_and_backfill_policies(definitions: dg.Definitions) -> None:
    def of(name: str) -> tuple[int, str, str, int | None]:
        asset = definitions.resolve_assets_def(dg.AssetKey(name.split(".")))
        assert asset.partitions_def is not None
        assert asset.backfill_policy is not None
        keys = asset.partitions_def.get_partition_keys()
        return len(keys), keys[0], keys[-1], asset.backfill_policy.max_partitions_per_run

    assert of("ods.flights") == (365, "2013-01-01", "2013-12-31", 92)
    assert of("ods.cancellations") == (365, "2013-01-01", "2013-12-31", 92)
    assert of("ods.weather") == (12, "2013-01", "2013-12", 12)
    assert of("dws.carrier_day") == (12, "2013-01", "2013-12", 12)


def test_a_month_of_carrier_days_needs_its_days_of_flights(definitions: dg.Definitions) -> None:
    flights = definitions.resolve_assets_def(dg.AssetKey(["ods", "flights"])).partitions_def
    months = definitions.resolve_assets_def(dg.AssetKey(["dws", "carrier_day"])).partitions_def
    assert flights is not None
    assert months is not None
    february = months.subset_with_partition_keys(["2013-02"])
    mapped = dg.TimeWindowPartitionMapping().get_upstream_mapped_partitions_result_for_partitions(
        february, months, flights
    )
    days = list(mapped.partitions_subset.get_partition_keys())
    assert (len(days), days[0], days[-1]) == (28, "2013-02-01", "2013-02-28")


def test_every_write_and_maintenance_step_has_a_pool_of_its_table(definitions: dg.Definitions) -> None:
    for name in TABLES:
        ident = name.replace(".", "_")
        (write,) = definitions.resolve_assets_def(dg.AssetKey(name.split("."))).node_def.pools
        together = "dimensions" if name.startswith("dim.") else ident
        assert write == f"paimon_write__{together}"
        (compact,) = definitions.resolve_job_def(f"compact__{ident}").graph.pools
        assert compact == f"paimon_compact__{ident}"
        for job in ("nightly", "sweep"):
            assert f"paimon_maintain__{ident}" in definitions.resolve_job_def(job).graph.pools


def test_automation_is_on_where_the_environment_says_so() -> None:
    def states(environment: str) -> set[str]:
        found = build_definitions(load_settings(environment))
        schedules = [found.resolve_schedule_def(f"{name}_schedule") for name in ("nightly", "sweep")]
        sensor = found.resolve_sensor_def("compaction")
        return {sensor.default_status.value, *(schedule.default_status.value for schedule in schedules)}

    assert states("local") == {"STOPPED"}
    assert states("prod") == {"RUNNING"}


def test_the_workspace_loads_from_elsewhere_beside_a_decoy_package(tmp_path: Path) -> None:
    """From a foreign working directory, with other packages named assets and pipelines in it and on PYTHONPATH."""
    for package in ("assets", "pipelines"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text("raise ImportError('the decoy was taken')\n")
    home = str(tmp_path)
    command = [sys.executable, "-W", "ignore", "-m", "dagster", "definitions", "validate"]
    done = subprocess.run(
        [*command, "-w", str(ROOT / "workspace.yaml")],
        cwd=tmp_path,
        env={"PYTHONPATH": home, "DAGSTER_HOME": home, "HOME": home, "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "paimon" in done.stdout + done.stderr

"""Definitions of a lake in the environments of the project, and the file that Dagster loads."""

import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest

from paimon_dagster.lake import build_definitions
from paimon_lake.declarations import environments, load_settings
from tests.support.orders_lake import TABLES, environments_of_the_project, write_tables
from tests.support.project import ROOT

pytestmark = pytest.mark.filterwarnings("ignore::dagster.BetaWarning")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = environments_of_the_project(tmp_path_factory.mktemp("definitions") / "configs")
    write_tables(folder)
    return folder


@pytest.fixture(scope="module")
def definitions(folder: Path) -> dg.Definitions:
    return build_definitions(load_settings("local", configs=folder, warehouse="/nowhere/lake"))


@pytest.mark.parametrize("environment", environments())
def test_definitions_load_for_each_environment(environment: str, folder: Path) -> None:
    dg.Definitions.validate_loadable(build_definitions(load_settings(environment, configs=folder)))


def test_every_table_is_an_asset_with_checks_and_a_compaction_job(definitions: dg.Definitions) -> None:
    keys = {name.replace(".", "/") for name in TABLES}
    assets = {key.to_user_string() for key in definitions.resolve_all_asset_keys()}
    assert assets == {*keys, "lake/health", "source/shop/orders", "source/shop/customers"}
    checks = {(key.asset_key.to_user_string(), key.name) for key in definitions.resolve_asset_graph().asset_check_keys}
    assert checks == {
        *((key, audit) for key in keys for audit in ("rows", "keys", "files", "fsck", "health")),
        ("shop/orders", "unique"),
        ("dws/revenue", "stale"),
    }
    jobs = {job.name for job in definitions.resolve_all_job_defs()}
    assert {f"compact__{name.replace('.', '_')}" for name in TABLES} | {"nightly", "sweep", "doctor", "audit"} <= jobs


def test_every_write_and_maintenance_step_has_a_pool_of_its_table(definitions: dg.Definitions) -> None:
    for name in TABLES:
        ident = name.replace(".", "_")
        assert definitions.resolve_assets_def(dg.AssetKey(name.split("."))).node_def.pools == {f"paimon_write__{ident}"}
        assert definitions.resolve_job_def(f"compact__{ident}").graph.pools == {f"paimon_compact__{ident}"}
        for job in ("nightly", "sweep"):
            assert f"paimon_maintain__{ident}" in definitions.resolve_job_def(job).graph.pools


def test_automation_is_on_where_the_environment_says_so(folder: Path) -> None:
    def states(environment: str) -> set[str]:
        found = build_definitions(load_settings(environment, configs=folder))
        schedules = [found.resolve_schedule_def(f"{name}_schedule") for name in ("nightly", "sweep")]
        sensor = found.resolve_sensor_def("compaction")
        return {sensor.default_status.value, *(schedule.default_status.value for schedule in schedules)}

    assert states("local") == {"STOPPED"}
    assert states("prod") == {"RUNNING"}


@pytest.mark.long
def test_the_workspace_loads_from_elsewhere_beside_a_decoy_package(tmp_path: Path, folder: Path) -> None:
    """From a foreign working directory, with other packages named assets and pipelines in it and on PYTHONPATH."""
    for package in ("assets", "pipelines"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text("raise ImportError('the decoy was taken')\n")
    home = str(tmp_path)
    places = {"PYTHONPATH": home, "DAGSTER_HOME": home, "HOME": home, "PAIMON_LAKE_CONFIGS": str(folder)}
    command = [sys.executable, "-W", "ignore", "-m", "dagster", "definitions", "validate"]
    done = subprocess.run(
        [*command, "-w", str(ROOT / "workspace.yaml")],
        cwd=tmp_path,
        env={**places, "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "paimon" in done.stdout + done.stderr

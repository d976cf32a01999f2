"""The command line dg in a project of its own that has the component of a lake."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.project import ROOT, SOURCES

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("dagster_dg_cli") is None, reason="the package dagster-dg-cli is not installed"
)

PROJECT = """
[project]
name = "shop"
version = "0"
requires-python = ">=3.11"
[tool.dg]
directory_type = "project"
[tool.dg.project]
root_module = "shop"
"""
SECOND = """
type: paimon_dagster.PaimonLake
attributes: {configs: ../lake/lake, name: copy, key_prefix: copy}
"""
OWN = """
import dagster as dg

@dg.job
def nightly(): ...

@dg.definitions
def defs():
    return dg.Definitions(jobs=[nightly], resources={"spark": "own"}, executor=dg.multiprocess_executor)
"""
DEFINITIONS = """
from pathlib import Path

import dagster as dg


@dg.definitions
def defs():
    return dg.load_from_defs_folder(path_within_project=Path(__file__).parent)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    defs = tmp_path / "shop" / "defs"
    defs.mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    for package in (defs, defs.parent):
        (package / "__init__.py").write_text("")
    (defs.parent / "definitions.py").write_text(DEFINITIONS)
    code, said = dg(tmp_path, "scaffold", "defs", "paimon_dagster.PaimonLake", "lake")
    assert code == 0, said
    return tmp_path


def dg(project: Path, *arguments: str) -> tuple[int, str]:
    """Run dg in the project and return its exit code and what it printed."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("DAGSTER")}
    paths = os.pathsep.join([*map(str, SOURCES), str(project)])
    environment = {**kept, "HOME": str(project / "home"), "PYTHONPATH": paths, "DAGSTER_DISABLE_TELEMETRY": "yes"}
    (project / "home").mkdir(exist_ok=True)
    command = [str(Path(sys.executable).with_name("dg")), *arguments]
    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout + done.stderr


def test_two_lakes_beside_other_definitions_pass_the_checks_of_dg(project: Path) -> None:
    defs = project / "shop" / "defs"
    (defs / "copy").mkdir()
    (defs / "copy" / "defs.yaml").write_text(SECOND)
    (defs / "own.py").write_text(OWN)
    for what in ("yaml", "defs"):
        code, said = dg(project, "check", what)
        assert code == 0, said


def test_mistakes_are_found_with_file_and_line(project: Path) -> None:
    lake = project / "shop" / "defs" / "lake"
    orders = lake / "lake" / "tables" / "shop.orders.yaml"
    orders.write_text(orders.read_text().replace("order_id: BIGINT", "order_id: BIGIN"))
    code, said = dg(project, "check", "defs")
    assert code == 1
    assert "shop.orders.yaml:4: columns.order_id: 'BIGIN' is not a data type" in said
    (lake / "defs.yaml").write_text((lake / "defs.yaml").read_text().replace("configs", "configz"))
    code, said = dg(project, "check", "yaml")
    assert code == 1
    assert "defs.yaml:4" in said
    assert "'configz' was unexpected" in said


@pytest.mark.long
def test_the_example_of_a_project_has_its_own_asset_and_the_tables_of_the_lake(tmp_path: Path) -> None:
    project = tmp_path / "dg_project"
    shutil.copytree(ROOT / "examples" / "dg_project", project)
    code, said = dg(project, "check", "yaml")
    assert code == 0, said
    code, said = dg(project, "list", "defs", "--json")
    assert code == 0, said
    for name in ("revenue_by_customer", "shop/orders", "unique_order_id", "shop_nightly"):
        assert f'"{name}"' in said or f':{name}"' in said, name

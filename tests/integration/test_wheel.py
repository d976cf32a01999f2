"""The wheel as a user gets it: its contents, and its commands in an environment and a project of the user's own."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.project import ROOT

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(importlib.util.find_spec("hatchling") is None, reason="the package hatchling is not installed"),
]

DATA = {
    *(f"{package}/py.typed" for package in ("paimon_core", "paimon_lake", "paimon_dagster")),
    "paimon_dagster/workspace.yaml",
    "paimon_lake/log4j2.properties",
    *(f"paimon_lake/template/{name}" for name in (".gitignore", "README.md", "base.yaml", "local.yaml")),
    *(f"paimon_lake/template/tables/shop.{name}.yaml" for name in ("orders", "revenue")),
    *(f"paimon_lake/template/data/orders/2024-01-0{day}.csv" for day in (1, 2, 3)),
}
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
DEFINITIONS = """
from pathlib import Path

import dagster as dg


@dg.definitions
def defs():
    return dg.load_from_defs_folder(path_within_project=Path(__file__).parent)
"""
OWN = """
import assets
import pipelines
import dagster as dg

assert (assets.OWNER, pipelines.OWNER) == ("the user", "the user")


@dg.asset
def own_asset(): ...
"""
DG = "from dagster_dg_cli.cli import main; main()"


@dataclass(frozen=True)
class User:
    """A user with an environment in which the wheel is installed, and a directory with own modules."""

    python: Path
    folder: Path

    def run(self, *command: str) -> str:
        """Run a command of the environment in the directory and return what it printed; it must succeed."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("DAGSTER", "PAIMON", "PYSPARK", "PYTHONPATH"))}
        environment = {**kept, "HOME": str(self.folder), "DAGSTER_DISABLE_TELEMETRY": "yes"}
        done = subprocess.run(
            [str(self.python.parent / command[0]), *command[1:]],
            cwd=self.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert done.returncode == 0, done.stdout + done.stderr[-3000:]
        return done.stdout

    def dg(self, *arguments: str) -> str:
        return self.run("python", "-c", DG, *arguments)


def build(kind: str, source: Path, target: Path) -> Path:
    """Build a distribution of the project without network and return its file."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(target)]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (path,) = target.glob("*.tar.gz" if kind == "sdist" else "*.whl")
    return path


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("sdist", ROOT, tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that is built from the source distribution."""
    folder = tmp_path_factory.mktemp("wheel")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    return build("wheel", next(folder.glob("paimon_core-*")), folder)


@pytest.fixture(scope="module")
def user(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> User:
    """The packages of this interpreter are visible in the environment, but not the project that it has installed."""
    folder = tmp_path_factory.mktemp("user")
    subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
    python = folder / "venv" / "bin" / "python"
    install = [python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", wheel]
    subprocess.run([*map(str, install)], check=True)
    where = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
    packages = subprocess.run([str(python), "-c", where], capture_output=True, text=True, check=True).stdout.strip()
    # A line adds a directory to the path and reads no .pth file in it, such as that of an editable installation.
    (Path(packages) / "others.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    project = folder / "project"
    for package in ("pipelines", "shop", "shop/defs"):
        (project / package).mkdir(parents=True)
        (project / package / "__init__.py").write_text('OWNER = "the user"\n')
    (project / "assets.py").write_text('OWNER = "the user"\n')
    (project / "pyproject.toml").write_text(PROJECT)
    (project / "shop" / "definitions.py").write_text(DEFINITIONS)
    (project / "shop" / "defs" / "own.py").write_text(OWN)
    return User(python, project)


def test_the_distributions_have_the_packages_and_their_data_and_nothing_else(sdist: Path, wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if ".dist-info/" not in name]
    here = {
        path.relative_to(folder.parent).as_posix()
        for folder in (ROOT / "paimon_core", ROOT / "pipelines" / "paimon_lake", ROOT / "assets" / "paimon_dagster")
        for path in folder.rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    assert set(names) == here
    assert set(names) >= DATA
    with tarfile.open(sdist) as archive:
        members = {member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()}
    assert not {name for name in members if name.startswith(("tests/", "configs/", "assets/demo", "docs/", "lake/"))}
    assert {"README.md", "LICENSE", "CHANGELOG.md", "pyproject.toml"} <= members


def test_the_packages_are_those_of_the_wheel_beside_modules_of_the_user(user: User) -> None:
    code = "import assets, pipelines, paimon_core, paimon_lake, paimon_dagster\n" + (
        "for m in (assets, pipelines, paimon_core, paimon_lake, paimon_dagster): print(m.__file__)"
    )
    files = [Path(line) for line in user.run("python", "-c", code).splitlines()]
    assert [path.is_relative_to(user.folder) for path in files] == [True, True, False, False, False]
    assert all(path.is_relative_to(user.python.parents[1]) for path in files[2:])


@pytest.mark.spark
def test_a_new_lake_is_applied_checked_loaded_and_shown(user: User) -> None:
    user.run("paimon-lake", "new", "my-lake")
    here = ("--configs", "my-lake")
    user.run("paimon-lake", "apply", *here)
    assert "2 tables agree with their declarations" in user.run("paimon-lake", "check", *here)
    user.run("paimon-lake", "load", "--table", "shop.orders", *here)
    user.run("paimon-lake", "load", "--table", "shop.revenue", *here)
    shown = [line.split()[:2] for line in user.run("paimon-lake", "show", *here).splitlines()]
    assert ["shop.orders", "9"] in shown
    assert ["shop.revenue", "3"] in shown
    assert not (user.folder / "my-lake" / "spark-warehouse").exists()


@pytest.mark.skipif(importlib.util.find_spec("dagster_dg_cli") is None, reason="dagster-dg-cli is not installed")
def test_a_lake_is_scaffolded_in_a_project_of_dg_and_passes_its_checks(user: User) -> None:
    user.dg("scaffold", "defs", "paimon_dagster.PaimonLake", "lake")
    assert (user.folder / "shop" / "defs" / "lake" / "lake" / "tables" / "shop.orders.yaml").exists()
    user.dg("check", "yaml")
    user.dg("check", "defs")
    listed = user.dg("list", "defs", "--json")
    assert '"own_asset"' in listed
    assert '"lake_nightly"' in listed

"""Without the packages of an extra, each entry says in one line what to install."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from paimon_lake.extras import missing_extra
from tests.support.project import ROOT

LAKE = "the package {} is not installed: pip install 'paimon-core[lake]'"
DAGSTER = "the package {} is not installed: pip install 'paimon-core[dagster]'"
WITHOUT = """\
import runpy, sys
for name in {names!r}:
    sys.modules[name] = None
sys.argv = {arguments!r}
{code}
"""


def run(code: str, *names: str, arguments: tuple[str, ...] = ("x",)) -> subprocess.CompletedProcess[str]:
    """Run Python code in a process that cannot import these packages."""
    program = WITHOUT.format(names=names, arguments=list(arguments), code=code)
    return subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("package", ["pyspark", "pydantic", "yaml", "pandas"])
def test_the_command_line_of_lakes(package: str, tmp_path: Path) -> None:
    asked = ("paimon-lake", "new", str(tmp_path / "lake"))
    done = run("from paimon_lake.__main__ import main; sys.exit(main())", package, arguments=asked)
    if package == "pandas":  # only Spark imports it, when a step needs it
        assert done.returncode == 0, done.stderr
        return
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"paimon-lake: {LAKE.format(package)}\n"


@pytest.mark.parametrize("package", ["dagster", "pydantic"])
def test_the_package_for_dagster_can_be_imported_and_its_names_say_what_to_install(package: str) -> None:
    """``dg`` imports it also in projects that use only the library."""
    done = run("import paimon_dagster; print(dir(paimon_dagster))", package)
    assert done.returncode == 0, done.stderr
    done = run("from paimon_dagster import PaimonLake", package)
    assert done.stderr.splitlines()[-1] == f"ImportError: paimon_dagster: {DAGSTER.format(package)}"
    done = run("runpy.run_module('paimon_dagster.ui', run_name='__main__')", package)
    assert (done.returncode, done.stderr) == (1, f"ui: {DAGSTER.format(package)}\n")


def test_other_modules_are_not_explained() -> None:
    assert missing_extra(ModuleNotFoundError("x", name="paimon_lake.nowhere")) is None
    assert missing_extra(ModuleNotFoundError("x")) is None

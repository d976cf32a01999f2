"""The layers of pyproject.toml hold, and the contracts notice what they are there for."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("paimon_core", "pipelines", "assets")
LINT = "from importlinter.cli import lint_imports_command; lint_imports_command()"


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", LINT, "--no-cache"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(str(folder / name) for name in ("", "pipelines", "assets"))},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_the_layers_hold():
    linted = lint_imports(ROOT)
    assert linted.returncode == 0, linted.stdout + linted.stderr


@pytest.mark.long
@pytest.mark.parametrize(
    ("module", "source", "contract"),
    [
        ("paimon_core/table/_fault.py", "def late():\n    import paimon_core.catalog\n", "paimon_core layers"),
        ("paimon_core/read/_fault.py", "import paimon_core.write\n", "paimon_core layers"),
        ("paimon_core/utils/__init__.py", "", "paimon_core layers"),
        ("paimon_core/lsm/_fault.py", "import paimon_core.storage.paths\n", "lsm is pure"),
        ("paimon_core/catalog/_fault.py", "import pyspark\n", "only the edges know the engines"),
        ("pipelines/paimon_lake/_fault.py", "import dagster\n", "the lake and the core know no Dagster"),
        ("pipelines/paimon_lake/_fault.py", "import paimon_dagster\n", "Dagster uses the lake uses paimon_core"),
    ],
)
def test_a_seeded_fault_breaks_its_contract(tmp_path, module, source, contract):
    for package in PACKAGES:
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    fault = tmp_path / module
    fault.parent.mkdir(exist_ok=True)
    fault.write_text(source)
    linted = lint_imports(tmp_path)
    assert linted.returncode == 1, linted.stdout + linted.stderr
    assert f"{contract} BROKEN" in linted.stdout.splitlines()

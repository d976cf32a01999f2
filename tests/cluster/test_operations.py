"""Local mode, Spark Connect and a cluster whose workers have a bare Python give the same tables.

The cluster gets the packages from the archive, by ``spark-submit``, as docs/spark.md says.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pyspark
import pytest

from paimon_core.cli.main import main
from tests.support.project import ROOT
from tests.support.standalone import ClusterUnavailable, quick_java, standalone_cluster

OPERATIONS = ROOT / "tests" / "cluster" / "operations.py"


def bare_python() -> Path:
    """Return the Python from which this environment was made; it has none of the packages."""
    python = Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    if not python.exists() or subprocess.run([python, "-c", "import pyarrow"], capture_output=True).returncode == 0:
        pytest.skip(f"{python} is missing or has pyarrow itself")
    return python


def run(folder: Path, where: str, *command: str | Path, packages: str = "") -> dict[str, Any]:
    """Run all operations in a new warehouse and return what they printed; ``packages``: a folder for PYTHONPATH."""
    kept = {key: text for key, text in os.environ.items() if not key.startswith("PYSPARK_")}
    if where != "submitted":
        kept["PYSPARK_PYTHON"] = sys.executable
    started = {
        "PYTHONPATH": f"{ROOT}:{packages}",
        "SPARK_LOCAL_IP": "127.0.0.1",
        "JAVA_TOOL_OPTIONS": quick_java(),
    }
    done = subprocess.run(
        [*command, OPERATIONS, where, folder / where],
        cwd=folder,
        env=kept | started,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, "\n".join(one for one in done.stderr.splitlines() if " INFO " not in one)[-4000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.cluster
def test_operations_give_equal_tables(tmp_path: Path) -> None:
    python = bare_python()
    local = run(tmp_path, "local", sys.executable)
    assert len(local["gave"]) >= 40
    assert not any(local["findings"].values()), local["findings"]
    for name in ("grpc", "zstandard"):  # of Spark Connect
        pytest.importorskip(name)
    assert run(tmp_path, "connect", sys.executable) == local
    archive = tmp_path / "paimon.tar.gz"
    assert main(["cluster-archive", str(archive)]) == 0
    with tarfile.open(archive) as there:
        there.extractall(tmp_path / "packages", filter="data")
    submit: list[str | Path] = [
        Path(pyspark.__file__).parent / "bin" / "spark-submit",
        *("--archives", f"{archive}#paimon", "--conf", "spark.executorEnv.PYTHONPATH=paimon"),
        *("--conf", f"spark.pyspark.python={python}", "--conf", f"spark.pyspark.driver.python={sys.executable}"),
    ]
    try:
        with standalone_cluster(tmp_path) as url:
            assert run(tmp_path, "submitted", *submit, "--master", url, packages=str(tmp_path / "packages")) == local
    except ClusterUnavailable as reason:
        pytest.skip(str(reason))

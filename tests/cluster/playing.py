"""Playing: a module of this folder runs as the driver of a standalone cluster, and prints what it found as JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.project import ROOT, SOURCES
from tests.support.standalone import ClusterUnavailable, quick_java, standalone_cluster

PLAY_SECONDS = 900


def played_on_cluster(folder: Path, module: str, *, hosts: bool = False) -> list[dict[str, Any]]:
    """Run ``python -m tests.cluster.MODULE MASTER FOLDER WAREHOUSE`` on a cluster of two workers, each with one core.

    Returns the JSON of the last line that it prints. ``hosts``: as in ``standalone_cluster``. Skips the test without
    Java.
    """
    try:
        with standalone_cluster(folder, hosts=hosts) as url:
            done = subprocess.run(
                [sys.executable, "-m", f"tests.cluster.{module}", url, str(folder), str(folder / "warehouse")],
                cwd=ROOT,
                env=os.environ | driver_environment(),
                capture_output=True,
                text=True,
                timeout=PLAY_SECONDS,
                check=False,
            )
    except ClusterUnavailable as reason:
        pytest.skip(str(reason))
    (folder / "driver.log").write_text(done.stderr)
    assert done.returncode == 0, "\n".join(one for one in done.stderr.splitlines() if "\tat " not in one)[-4000:]
    found: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return found


def driver_environment() -> dict[str, str]:
    """Return the variables of a driver of this folder: its JVM starts quickly, and its tasks run this interpreter."""
    return {
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYTHONPATH": os.pathsep.join(map(str, SOURCES)),
        "JAVA_TOOL_OPTIONS": quick_java(),
    }

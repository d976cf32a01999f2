"""A new lake as a newcomer uses it: written, and loaded by the demo."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import paimon_core as paimon

ROOT = Path(__file__).resolve().parents[2]


def run(*arguments: str) -> str:
    command = [sys.executable, "-m", *arguments]
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PAIMON_", "DAGSTER_"))}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    return done.stdout


@pytest.mark.spark
def test_a_new_lake_is_loaded_and_its_rejected_row_is_told(tmp_path):
    folder = tmp_path / "my-lake"
    assert run("paimon_lake", "new", str(folder)).endswith("README.md\n")
    told = run("assets.demo", "--configs", str(folder))
    assert "shop.orders has 9 rows" in told
    assert "shop.revenue has 3 rows" in told
    assert f"make ui CONFIGS={folder}" in told
    catalog = paimon.open_catalog(folder / "warehouse")
    assert [len(catalog.table(name).inspect.snapshots()) for name in ("shop.orders", "shop.revenue")] == [1, 1]
    (rejected,) = catalog.table("shop.orders__rejects").scan().to_arrow().to_pylist()
    assert (rejected["line"], rejected["column"], rejected["raw"]) == (5, "amount", "9,2024-01-03,Hal,twelve,open")

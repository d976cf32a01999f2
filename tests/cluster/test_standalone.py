"""A standalone cluster loads, compacts and reads a table with the same result as local mode."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import paimon_core as paimon
from tests.cluster.playing import driver_environment
from tests.support.lakes import small_lake
from tests.support.project import CONFIGS
from tests.support.standalone import ClusterUnavailable, standalone_cluster

ROOT = Path(__file__).resolve().parents[2]
ORDERS = """
columns: {month: STRING, id: BIGINT, shop: STRING, amount: BIGINT}
primary_key: [month, id]
partition_by: [month]
options: {bucket: "2", num-levels: "4"}
source: {type: files, path: "orders/{date}.csv"}
partitions: {by: day, start: 2024-01-01, end: 2024-12-31}
"""
STEPS = """
import json, sys
from paimon_core.spark import read_spark
from paimon_lake.steps.upkeep.maintenance import compact
from paimon_lake.loads.load import load_table
from paimon_lake.session import start_session
from paimon_lake.declarations import load_settings
from paimon_lake.tables import open_table

settings = load_settings(None, warehouse=sys.argv[1], configs=sys.argv[2])
session = start_session(settings)
spark = lambda: session

def read():
    rows = read_spark(session, open_table(settings, "shop.orders")).groupBy("shop")
    return [list(r) for r in rows.agg({"*": "count", "amount": "sum"}).orderBy("shop").collect()]

load_table(spark, settings, "shop.orders", ["2024-01-30", "2024-01-31"])
load_table(spark, settings, "shop.orders", ["2024-02-01", "2024-02-02"])
merged = read()
compact(spark, settings, "shop.orders", full=True)
print(json.dumps([merged, read()]))
"""


def lake(folder):
    """Four days of two months; each day repeats a third of the keys of the day before."""
    lake = small_lake(folder)
    for name in ("base.yaml", "local.yaml", "standalone.yaml"):
        shutil.copy(CONFIGS / name, folder)
    lake.declare("shop.orders", ORDERS)
    for number, day in enumerate(("2024-01-30", "2024-01-31", "2024-02-01", "2024-02-02")):
        keys = range(number * 1000, number * 1000 + 1500)
        rows = "".join(f"{day[:7]},{key},s{key % 7},{key + number}\n" for key in keys)
        lake.file(f"orders/{day}.csv", "month,id,shop,amount\n" + rows)
    return folder


def build(environment, warehouse, configs):
    """Load, read, compact and read again, in one driver; then what the library reads."""
    done = subprocess.run(
        [sys.executable, "-c", STEPS, warehouse, str(configs)],
        cwd=ROOT,
        env=os.environ | driver_environment() | environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    merged, compacted = json.loads(done.stdout.splitlines()[-1])
    table = paimon.open_catalog(warehouse).table("shop.orders")
    order = [(k, "ascending") for k in table.schema.primary_keys]
    return merged, compacted, table, table.scan().to_arrow().sort_by(order)


def test_more_bound_workers_than_processors_are_refused(tmp_path):
    with (
        pytest.raises(ClusterUnavailable, match="1000 bound workers need taskset and as many processors"),
        standalone_cluster(tmp_path, 1000, bound=True),
    ):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.cluster
def test_a_cluster_gives_what_local_mode_gives(tmp_path):
    configs = lake(tmp_path / "configs")
    try:
        with standalone_cluster(tmp_path) as url:
            environment = {"PAIMON_ENV": "standalone", "SPARK_MASTER": url}
            cluster = build(environment, str(tmp_path / "cluster"), configs)
            # The work went to the workers: each keeps a folder of the application.
            assert len(list((tmp_path / "work").glob("app-*"))) == 1
    except ClusterUnavailable as reason:
        pytest.skip(str(reason))
    local = build({"PAIMON_ENV": "local"}, str(tmp_path / "local"), configs)
    assert cluster[0] == cluster[1] == local[0] == local[1]
    assert len(local[3]) == 5000
    assert cluster[3].equals(local[3])
    for side in (cluster, local):
        assert set(side[2].inspect.files()["level"].to_pylist()) == {3}, "num-levels is 4"
        assert [str(s) for s in side[2].inspect.snapshots()["commit_kind"].to_pylist()] == ["APPEND"] * 2 + ["COMPACT"]

"""A standalone cluster writes, compacts and reads ods.flights with the same result as local mode."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import paimon_core as paimon
from tests.support.standalone import ClusterUnavailable, standalone_cluster

ROOT = Path(__file__).resolve().parents[2]
STEPS = """
import json, sys
from datetime import date
from paimon_core.spark import read_spark
from pipelines.flights import ingest_flights
from pipelines.maintenance import compact
from pipelines.protocol import day_range
from pipelines.session import start_session
from pipelines.lake import load_settings
from pipelines.tables import open_table

settings = load_settings(None, warehouse=sys.argv[1])
session = start_session(settings)
spark = lambda: session

def read():
    rows = read_spark(session, open_table(settings, "ods.flights")).groupBy("carrier")
    return [list(r) for r in rows.agg({"*": "count", "arr_delay": "sum"}).orderBy("carrier").collect()]

ingest_flights(spark, settings, day_range(date(2013, 1, 30), date(2013, 2, 2)))
merged = read()
compact(spark, settings, "ods.flights", full=True)
print(json.dumps([merged, read()]))
"""


def build(environment, warehouse):
    """Ingest four days of two months, read, compact, read again, in one driver; then what the library reads."""
    done = subprocess.run(
        [sys.executable, "-c", STEPS, warehouse],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    merged, compacted = json.loads(done.stdout.splitlines()[-1])
    table = paimon.open_catalog(warehouse).table("ods.flights")
    order = [(k, "ascending") for k in table.schema.primary_keys]
    return merged, compacted, table, table.scan().to_arrow().sort_by(order)


@pytest.mark.cluster
def test_a_cluster_gives_what_local_mode_gives(tmp_path):
    try:
        with standalone_cluster(tmp_path) as url:
            cluster = build({"PAIMON_ENV": "standalone", "SPARK_MASTER": url}, str(tmp_path / "cluster"))
            # The work went to the workers: each keeps a folder of the application.
            assert len(list((tmp_path / "work").glob("app-*"))) == 1
    except ClusterUnavailable as reason:
        pytest.skip(str(reason))
    local = build({"PAIMON_ENV": "local"}, str(tmp_path / "local"))
    assert cluster[0] == cluster[1] == local[0] == local[1]
    assert len(local[3]) > 3000
    assert cluster[3].equals(local[3])
    for side in (cluster, local):
        assert set(side[2].inspect.files()["level"].to_pylist()) == {3}, "num-levels is 4"
        assert [str(s) for s in side[2].inspect.snapshots()["commit_kind"].to_pylist()] == ["APPEND"] * 3 + ["COMPACT"]

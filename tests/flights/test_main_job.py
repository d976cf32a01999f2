"""The main job, whole: one demo from nothing, then every other reader on the lake that it built."""

import datetime
import os
import subprocess
import sys
from pathlib import Path

import pyarrow.compute as pc
import pytest

import paimon_core as paimon
from paimon_core import col

ROOT = Path(__file__).resolve().parents[2]
ROWS = {
    "dim.airlines": 16,
    "dim.airports": 1458,
    "dim.planes": 3322,
    "dwd.flight_wide": 328_521,
    "dws.carrier_day": 5420,
    "ods.cancellations": 8255,
    "ods.flights": 328_521,
    "ods.weather": 26_115,
}


def demo(lake: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "assets.demo"],
        cwd=ROOT,
        env=os.environ | {"PAIMON_LAKE": str(lake)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    folder = tmp_path_factory.mktemp("main-job") / "lake"
    print(demo(folder))
    return folder


def tables_of(lake):
    catalog = paimon.open_catalog(lake)
    return {name: catalog.table(name) for name in ROWS}


@pytest.mark.spark
def test_the_tables_hold_what_the_source_says(lake):
    tables = tables_of(lake)
    assert {name: table.scan().count() for name, table in tables.items()} == ROWS
    flights = tables["ods.flights"].scan().to_arrow()
    keys = flights.select(["date", "carrier", "flight", "origin"]).group_by(["date", "carrier", "flight", "origin"])
    assert keys.aggregate([]).num_rows == len(flights)
    assert pc.min(flights["date"]).as_py() == datetime.date(2013, 1, 1)
    assert pc.max(flights["date"]).as_py() == datetime.date(2013, 12, 31)
    assert flights["dep_time"].null_count == 0
    cancelled = tables["ods.cancellations"].scan().to_arrow()
    assert len(flights) + len(cancelled) == 336_776
    aircraft = tables["dim.planes"].scan(["tailnum", "manufacturer"]).to_arrow()
    makers = dict(zip(*(aircraft[name].to_pylist() for name in ("tailnum", "manufacturer")), strict=True))
    wide = tables["dwd.flight_wide"].scan(["tailnum", "manufacturer"]).to_arrow()
    assert wide["manufacturer"].to_pylist() == [makers.get(tail) for tail in wide["tailnum"].to_pylist()]
    assert 0 < wide["manufacturer"].null_count < len(wide) / 2


@pytest.mark.spark
def test_the_aggregate_equals_one_computed_without_spark(lake):
    tables = tables_of(lake)
    where = (col("carrier") == "UA") & (col("date") == "2013-07-04")
    delays = tables["ods.flights"].scan(["arr_delay"], where).to_arrow()["arr_delay"]
    arrived = sorted(delays.drop_null().to_pylist())
    (row,) = tables["dws.carrier_day"].scan(where=where).to_arrow().to_pylist()
    assert (row["flights"], row["arrived"]) == (len(delays), len(arrived))
    assert row["mean_delay"] == pytest.approx(sum(arrived) / len(arrived))
    at, rest = divmod(0.95 * (len(arrived) - 1), 1)
    assert row["p95_delay"] == pytest.approx(arrived[int(at)] * (1 - rest) + arrived[int(at) + 1] * rest)


@pytest.mark.spark
def test_again_it_adds_nothing(lake):
    before = {name: table.latest_snapshot().id for name, table in tables_of(lake).items()}
    said = demo(lake)
    assert "nothing is added again" in said
    assert {name: table.latest_snapshot().id for name, table in tables_of(lake).items()} == before


@pytest.mark.spark
def test_java_reads_every_table(lake, oracle):
    steps = [{"op": "dump", "table": f"{name}$snapshots"} for name in ROWS]
    oracle.run(lake, steps)
    counts = {name: len(oracle.dump(lake, name)) for name in ROWS}
    assert counts == ROWS


@pytest.mark.spark
def test_pypaimon_reads_every_table_that_it_supports(lake, pypaimon):
    read = {name: count for name, count in ROWS.items() if name != "dwd.flight_wide"}  # it refuses sequence groups
    assert pypaimon.counts(lake, list(read)) == read

"""Lakes of a SQL or REST catalog through the resources of Dagster, which read the declarations again in each run."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dagster as dg
import pytest

from paimon_core.catalog.rest.rest_catalog import RestCatalog
from paimon_core.catalog.sql.sql_catalog import SqlCatalog
from paimon_core.compact.compactor import run_tasks
from paimon_dagster import resources as resources_module
from paimon_dagster.lake import build_definitions
from paimon_dagster.resources import LakeResource, place_of
from paimon_lake.loads import write_tasks
from paimon_lake.steps.upkeep import maintenance
from paimon_lake.tables import open_lake
from tests.support.lakes import SmallLake, small_lake
from tests.support.tasks import in_this_process

pytestmark = pytest.mark.filterwarnings("ignore::dagster.BetaWarning", "ignore::ResourceWarning")

ORDERS = """
    columns: {id: BIGINT, day: DATE, amount: INT}
    primary_key: [id]
    source: {type: files, path: "data/{date}.csv"}
    partitions: {by: day, start: 2024-01-01, end: 2024-01-02, column: day}
    options: {write-only: "true"}
    compaction: {start_at_runs: 2, stop_at_runs: 1}
"""
DAYS = ("2024-01-01", "2024-01-02")
TOKEN = "canary-7f3a"


def with_catalog(folder: Path, catalog: str, warehouse: str = "warehouse") -> SmallLake:
    """A lake of orders with a file of each day."""
    lake = small_lake(folder)
    lake.file("base.yaml", f"warehouse: {warehouse}\ncatalog: {{{catalog}}}\nlanding_directory: /nowhere\n")
    lake.declare("shop.orders", ORDERS)
    for number, day in enumerate(DAYS):
        lake.file(f"data/{day}.csv", f"id,day,amount\n{number},{day},1\n")
    return lake


def loads_checks_and_maintains(lake: SmallLake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run loads, the compaction that the sensor requests, the nightly job and all checks."""
    monkeypatch.setattr(write_tasks, "collect_tasks", in_this_process)
    session = SimpleNamespace(sparkContext=SimpleNamespace(defaultParallelism=1), stop=lambda: None)
    monkeypatch.setattr(resources_module, "start_session", lambda settings: session)
    monkeypatch.setattr(maintenance, "spark_work", lambda spark: run_tasks)
    monkeypatch.chdir("/")
    definitions = build_definitions(lake.settings, name="shop")
    key = dg.AssetKey(["shop", "orders"])
    with dg.DagsterInstance.ephemeral() as instance:

        def run(job: str, **more: Any) -> dg.ExecuteInProcessResult:
            return definitions.resolve_job_def(job).execute_in_process(instance=instance, **more)

        for day in DAYS:
            run("__ASSET_JOB", asset_selection=[key], partition_key=day)
        assert lake.table("shop.orders").scan().count() == 2
        resources = {"shop_lake": LakeResource(**place_of(lake.settings))}
        with dg.build_sensor_context(instance=instance, resources=resources) as context:
            (request,) = definitions.resolve_sensor_def("shop_compaction").evaluate_tick(context).run_requests or []
        run(str(request.job_name), run_config=request.run_config)
        run("shop_nightly")
        checks = run("shop_audit").get_asset_check_evaluations()
    assert {check.check_name: check.passed for check in checks} == dict.fromkeys(
        ("rows", "keys", "files", "fsck", "health"), True
    )
    assert [tag.name.partition("-")[0] for tag in lake.table("shop.orders").tags.list()] == ["nightly"]


def test_a_sql_catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative path of SQLite starts at the folder of the declarations, in whichever directory a run is."""
    lake = with_catalog(tmp_path / "lake", "type: sql, uri: 'sqlite:///names.db'")
    assert isinstance(open_lake(LakeResource(**place_of(lake.settings)).settings), SqlCatalog)
    loads_checks_and_maintains(lake, monkeypatch)
    with sqlite3.connect(lake.folder / "names.db") as connection:
        assert {name for (name,) in connection.execute("SELECT table_name FROM paimon_tables")} == {
            "orders",
            "orders__rejects",
        }


@pytest.mark.java
def test_a_rest_server(tmp_path: Path, oracle: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The name of the warehouse is not made a path, and the token is read from its variable by each run."""
    served = {"op": "startRest", "name": "lake", "path": f"file://{tmp_path}/served", "token": TOKEN}
    (started,) = oracle.run(tmp_path / "served", [served])
    monkeypatch.setenv("LAKE_TOKEN", TOKEN)
    try:
        lake = with_catalog(tmp_path / "lake", f"type: rest, uri: '{started['uri']}', token: '${{LAKE_TOKEN}}'", "lake")
        resource = LakeResource(**place_of(lake.settings))
        assert isinstance(open_lake(resource.settings), RestCatalog)
        assert TOKEN not in repr(place_of(lake.settings))
        loads_checks_and_maintains(lake, monkeypatch)
    finally:
        oracle.run(tmp_path / "served", [{"op": "stopRest", "uri": started["uri"]}])

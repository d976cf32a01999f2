"""The settings of deploy/: an instance on PostgreSQL, a daemon that is restarted, a schedule and a backfill.

The web server, the daemon and the code server are processes of their own, as in deploy/compose.yaml.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml

from paimon_lake.declarations import Settings
from paimon_lake.tables import open_table
from tests.support.orders_lake import DAYS, ORDERS_A_DAY, orders_lake
from tests.support.postgres import PASSWORD, running_server
from tests.support.project import ROOT

server = pytest.fixture(running_server, scope="module")
DEPLOY = ROOT / "deploy"
WAIT_SECONDS = 300
BACKFILL = """mutation($days: [String!]) { launchPartitionBackfill(backfillParams: {
  partitionNames: $days, assetSelection: [{path: ["shop", "orders"]}] }) {
  __typename ... on LaunchBackfillSuccess { backfillId } ... on PythonError { message } } }"""
STATUS = "query($id: String!) { partitionBackfillOrError(backfillId: $id) { ... on PartitionBackfill { status } } }"
SCHEDULE = """mutation { startSchedule(scheduleSelector: { repositoryLocationName: "paimon",
  repositoryName: "__repository__", scheduleName: "load__shop_customers_schedule" }) { __typename } }"""
SCHEDULED = "load__shop_customers_schedule"
SCHEDULES = "{ repositoriesOrError { ... on RepositoryConnection { nodes { name schedules { name } } } } }"
RUNS = """{ runsOrError(filter: {pipelineName: "load__shop_customers"}) {
  ... on Runs { results { status } } } }"""


class Production:
    """The processes of a lake in production; each can be stopped and started."""

    def __init__(self, home: Path, settings: Settings, port: int, ports: dict[str, int]) -> None:
        self.home, self.settings, self.ports = home, settings, ports
        self.environment = {
            **os.environ,
            "PAIMON_ENV": "local",
            "PAIMON_LAKE_CONFIGS": str(settings.folder),
            "DAGSTER_HOME": str(home),
            "DAGSTER_PG_HOST": "127.0.0.1",
            "DAGSTER_PG_PORT": str(port),
            "DAGSTER_PG_DB": "postgres",
            "DAGSTER_PG_USER": "lake",
            "DAGSTER_PG_PASSWORD": PASSWORD,
            "LAKE_HOST": "127.0.0.1",
        }
        self.commands = {
            "lake": ["dagster", "api", "grpc", "-m", "paimon_dagster.definitions", "-p", str(ports["lake"])],
            "daemon": ["dagster._daemon", "run", "-w", str(home / "workspace.yaml")],
            "web": ["dagster_webserver", "-p", str(ports["web"]), "-w", str(home / "workspace.yaml")],
        }
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str) -> None:
        command = [sys.executable, "-m", *self.commands[name]]
        with (self.home / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(command, cwd=self.home, env=self.environment, stdout=log, stderr=log)
        self.running[name] = process

    def stop(self, name: str, *, kill: bool = False) -> None:
        process = self.running.pop(name)
        process.kill() if kill else process.terminate()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def end(self) -> None:
        """Kill all processes and those that they started; a code server that is asked waits a minute for its runs."""
        started = [psutil.Process(process.pid) for process in self.running.values()]
        for one in [*started, *(child for parent in started for child in parent.children(recursive=True))]:
            with contextlib.suppress(psutil.NoSuchProcess):
                one.kill()
        for process in self.running.values():
            process.wait()

    def ask(self, query: str, **variables: Any) -> Any:
        body = json.dumps({"query": query, "variables": variables}).encode()
        url = f"http://127.0.0.1:{self.ports['web']}/graphql"
        request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=120) as answer:
            value = json.load(answer)
        assert "errors" not in value, value
        return value["data"]

    def wait(self, what: str, done: Callable[[], bool]) -> None:
        deadline = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < deadline:
            for name, process in self.running.items():
                assert process.poll() is None, f"{name} ended: {(self.home / f'{name}.log').read_text()[-3000:]}"
            try:
                if done():
                    return
            except OSError:
                pass  # a process that is not ready
            time.sleep(1)
        logs = {name: (self.home / f"{name}.log").read_text()[-2000:] for name in self.commands}
        pytest.fail(f"{what} did not happen in {WAIT_SECONDS} s: {logs}")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def production(tmp_path: Path, server: Any) -> Iterator[Production]:
    pytest.importorskip("dagster_postgres")
    settings = orders_lake(tmp_path / "lake")
    customers = settings.folder / "tables" / "shop.customers.yaml"
    customers.write_text(customers.read_text() + 'schedule: {cron: "* * * * *"}\n')
    home = tmp_path / "home"
    home.mkdir()
    shutil.copy(DEPLOY / "dagster.yaml", home)
    ports = {"lake": free_port(), "web": free_port()}
    workspace = (DEPLOY / "workspace.yaml").read_text()
    assert workspace.count("port: 4000") == 1
    (home / "workspace.yaml").write_text(workspace.replace("port: 4000", f"port: {ports['lake']}"))
    found = Production(home, settings, server.port, ports)
    try:
        yield found
    finally:
        found.end()


@pytest.mark.long
@pytest.mark.spark
def test_schedules_and_a_backfill_run_although_the_daemon_is_restarted(production: Production) -> None:
    for name in ("lake", "web", "daemon"):
        production.start(name)
    production.wait("the code location", lambda: SCHEDULED in json.dumps(production.ask(SCHEDULES)))
    started = production.ask(SCHEDULE)["startSchedule"]
    assert started["__typename"] == "ScheduleStateResult", started
    launched = production.ask(BACKFILL, days=[day.isoformat() for day in DAYS])["launchPartitionBackfill"]
    assert launched["__typename"] == "LaunchBackfillSuccess", launched
    production.stop("daemon", kill=True)
    production.start("daemon")

    def status() -> str:
        return str(production.ask(STATUS, id=launched["backfillId"])["partitionBackfillOrError"]["status"])

    production.wait("the end of the backfill", lambda: status().startswith(("COMPLETED", "FAILED", "CANCELED")))
    assert status() == "COMPLETED_SUCCESS"
    production.stop("daemon")
    production.start("daemon")
    production.wait(
        "a scheduled run",
        lambda: any(run["status"] == "SUCCESS" for run in production.ask(RUNS)["runsOrError"]["results"]),
    )
    orders, customers = (open_table(production.settings, f"shop.{name}") for name in ("orders", "customers"))
    assert orders.scan().count() == len(DAYS) * ORDERS_A_DAY
    assert len(orders.inspect.snapshots()) == 1
    assert customers.scan().count() > 0
    assert PASSWORD not in "".join(path.read_text() for path in production.home.glob("*.log"))


def test_the_files_of_deploy_name_no_secret_and_agree() -> None:
    instance = yaml.safe_load((DEPLOY / "dagster.yaml").read_text())
    database = instance["storage"]["postgres"]["postgres_db"]
    variables = {one["env"] for name, one in database.items() if name != "scheme"}
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    environment = compose["services"]["lake"]["environment"]
    assert variables < set(environment)
    assert all(compose["services"][name]["image"] == "paimon-lake" for name in ("lake", "daemon", "webserver"))
    assert environment["DAGSTER_PG_PASSWORD"].startswith("${POSTGRES_PASSWORD:?")
    dockerfile = (DEPLOY / "Dockerfile").read_text()
    assert "paimon_dagster.definitions" in dockerfile
    assert "USER lake" in dockerfile
    for line in dockerfile.splitlines():
        if line.startswith("COPY "):
            assert all((ROOT / source).exists() for source in line.split()[1:-1]), line

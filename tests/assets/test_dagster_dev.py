"""``make ui``, seen from outside: a backfill by the daemon, the pages in a browser, and an end without leftovers."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from paimon_lake.declarations import Settings
from paimon_lake.tables import open_table
from tests.support.orders_lake import DAYS, ORDERS_A_DAY, orders_lake
from tests.support.project import ROOT

DAGSTER_DEV_ENDS = 150
"""Seconds until it ends after a signal: it waits for its web server and for its daemon, at most 60 seconds for each."""
LAUNCH = """mutation($days: [String!]) { launchPartitionBackfill(backfillParams: {
  partitionNames: $days, assetSelection: [{path: ["shop", "orders"]}] }) {
  __typename ... on LaunchBackfillSuccess { backfillId } ... on PythonError { message } } }"""
STATUS = "query($id: String!) { partitionBackfillOrError(backfillId: $id) { ... on PartitionBackfill { status } } }"
RUNS = """query($id: String!) { runsOrError(filter: {tags: [{key: "dagster/backfill", value: $id}]}) {
  ... on Runs { results { runId status } } } }"""


@dataclass(frozen=True)
class Web:
    url: str
    settings: Settings
    process: subprocess.Popen[str]

    def ask(self, query: str, **variables: Any) -> Any:
        body = json.dumps({"query": query, "variables": variables}).encode()
        request = urllib.request.Request(f"{self.url}/graphql", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=300) as answer:
            value = json.load(answer)
        assert "errors" not in value, value
        return value["data"]


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("no Java: Spark needs Java 17 or later")
    settings = orders_lake(tmp_path_factory.mktemp("ui") / "lake")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {**os.environ, "PAIMON_ENV": "local"}
    environment.pop("DAGSTER_HOME", None)
    command = [sys.executable, "-m", "paimon_dagster.ui", "--configs", str(settings.folder), "--port", str(port)]
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    lines = iter(process.stdout.readline, "")
    assert any(line.startswith("Open http") for line in lines), "dagster dev did not start"
    threading.Thread(target=lambda: [None for _ in lines], daemon=True).start()
    children = psutil.Process(process.pid).children(recursive=True)
    yield Web(f"http://127.0.0.1:{port}", settings, process)
    process.send_signal(signal.SIGINT)
    assert process.wait(DAGSTER_DEV_ENDS) == 0
    process.stdout.close()
    _, alive = psutil.wait_procs(children, timeout=20)
    assert not alive, f"left over: {alive}"


@pytest.mark.spark
def test_a_backfill_of_31_days_is_one_run_and_one_commit(web: Web) -> None:
    launched = web.ask(LAUNCH, days=[day.isoformat() for day in DAYS])["launchPartitionBackfill"]
    assert launched["__typename"] == "LaunchBackfillSuccess", launched
    backfill = launched["backfillId"]
    deadline = time.monotonic() + 400
    status = ""
    while time.monotonic() < deadline and not status.startswith(("COMPLETED", "FAILED", "CANCELED")):
        time.sleep(2)
        status = web.ask(STATUS, id=backfill)["partitionBackfillOrError"]["status"]
    runs = web.ask(RUNS, id=backfill)["runsOrError"]["results"]
    assert status == "COMPLETED_SUCCESS", (status, runs)
    assert [run["status"] for run in runs] == ["SUCCESS"]
    table = open_table(web.settings, "shop.orders")
    assert table.scan().count() == len(DAYS) * ORDERS_A_DAY
    (properties,) = [dict(p) for p in table.inspect.snapshots()["properties"].to_pylist()]
    assert properties["dagster.run-id"] == runs[0]["runId"]
    assert properties["dagster.partitions"] == "2024-01-15..2024-02-14"


@pytest.mark.browser
def test_the_asset_graph_and_an_asset_page_without_console_errors(web: Web) -> None:
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        pytest.skip("no Chromium on the PATH")
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        )
        page = browser.new_page(viewport={"width": 1600, "height": 1000})
        page.set_default_navigation_timeout(240_000)  # of slow machines
        errors: list[str] = []
        outside: list[str] = []
        page.on("console", lambda m: errors.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda e: errors.append(str(e)))
        page.on("request", lambda r: None if _is_local(r.url, web.url) else outside.append(r.url))
        page.goto(f"{web.url}/asset-groups")
        _see(page, "Global asset lineage", "source", "shop", "dws")
        page.goto(f"{web.url}/locations/paimon/asset-groups/shop/lineage")
        _see(page, "orders", "customers", "revenue")
        page.goto(f"{web.url}/assets/shop/orders")
        _see(page, "orders, each as last reported", "customer", "Row count")
        browser.close()
    assert errors == []
    assert outside == []


def _see(page: Any, *texts: str) -> None:
    for text in texts:
        page.get_by_text(text, exact=True).first.wait_for(timeout=240_000)


def _is_local(url: str, base: str) -> bool:
    return url.startswith((base, base.replace("http", "ws", 1), "data:", "blob:"))


def test_the_home_keeps_telemetry_off(web: Web) -> None:
    assert "telemetry:\n  enabled: false" in (Path(web.settings.warehouse) / "dagster" / "dagster.yaml").read_text()

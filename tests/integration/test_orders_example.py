"""The example of a lake that follows PostgreSQL: the commands of its README, as a new user runs them."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest

import paimon_core as paimon
from tests.support.project import ROOT, SOURCES

EXAMPLE = ROOT / "examples" / "orders_postgres"
PASSWORD = "secret-of-the-shop"
TABLES = ("customers", "orders", "order_items")
SECONDS = 600
"""A new user has the tables, the changes and the report within this time."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Shop:
    """A copy of the example, with ports of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port, self.web_port = folder, free_port(), free_port()
        shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("warehouse", "__pycache__"))
        kept = {key: text for key, text in os.environ.items() if not key.startswith(("PAIMON_", "DAGSTER_", "SHOP_"))}
        self.environment = {
            **kept,
            "PATH": f"{Path(sys.executable).parent}:{kept['PATH']}",
            "PYTHONPATH": os.pathsep.join(map(str, SOURCES)),
            "SHOP_PORT": str(self.port),
            "DAGSTER_HOME": str(folder / "dagster"),
            "DAGSTER_DISABLE_TELEMETRY": "yes",
        }
        text = (folder / "README.md").read_text()
        self.blocks = re.findall(r"^```bash\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)

    def run(self, block: str, timeout: float = SECONDS) -> str:
        done = subprocess.run(
            ["bash", "-e", "-u", "-c", block],
            cwd=self.folder,
            env=self.environment | {"SHOP_PASSWORD": PASSWORD},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr[-4000:]}"
        assert PASSWORD not in done.stdout + done.stderr
        return done.stdout

    @contextlib.contextmanager
    def dagster(self, block: str) -> Iterator[str]:
        """Run a block that ends with ``dagster dev``, on a port of this test; give its URL."""
        with (self.folder / "dagster.log").open("w") as log:
            process = subprocess.Popen(
                ["bash", "-e", "-c", f"{block.rstrip()} -p {self.web_port}"],
                cwd=self.folder,
                env=self.environment | {"SHOP_PASSWORD": PASSWORD},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            url = f"http://127.0.0.1:{self.web_port}"
            wait_until(lambda: answers(f"{url}/server_info"), 180)
            yield url
        finally:
            started = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
            os.killpg(process.pid, signal.SIGTERM)
            # tests/assets/test_dagster_dev.py plays the end, for which it waits up to two minutes.
            _, alive = psutil.wait_procs(started, timeout=5)
            for one in alive:
                with contextlib.suppress(psutil.NoSuchProcess):
                    one.kill()
            process.wait()

    def rows(self, table: str) -> list[tuple[Any, ...]]:
        found = paimon.open_catalog(self.folder / "warehouse").table(f"shop.{table}").scan().to_arrow()
        return sorted(zip(*(column.to_pylist() for column in found.columns), strict=True))

    def source_rows(self, table: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(f"postgresql://lake:{PASSWORD}@127.0.0.1:{self.port}/shop") as database:
            database.execute("SET TimeZone = UTC")
            return sorted(database.execute(f"SELECT * FROM {table}").fetchall())  # type: ignore[arg-type]


def answers(url: str) -> bool:
    with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=2):
        return True
    return False


def wait_until(holds: Any, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(1)


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    if not (shutil.which("initdb") or list(Path("/usr/lib/postgresql").glob("*/bin/initdb"))):
        pytest.skip("no initdb: the example needs a PostgreSQL server")
    made = Shop(tmp_path / "orders")
    yield made
    made.run("python database.py stop")


@pytest.mark.spark
def test_the_commands_of_the_readme(shop: Shop) -> None:
    copy, follow, dagster, end = shop.blocks
    began = time.monotonic()
    copied = shop.run(copy)
    assert "load shop.orders: 20,000 rows written" in copied
    assert copied.count("up to date; the slot holds ") == 3
    followed = shop.run(f"export SHOP_PASSWORD={PASSWORD}\n{follow}")
    assert time.monotonic() - began < SECONDS
    print(f"{time.monotonic() - began:.0f} s from nothing to the report")
    assert "load shop.orders: " in followed
    assert len(re.findall(r"^(?:DE|FR|JP|US) +[\d,]+\.00$", followed, re.MULTILINE)) == 4
    assert "WRONG" not in followed
    with shop.dagster(dagster) as url:
        shop.run("python database.py change --seconds 5")
        wait_until(lambda: all(shop.rows(table) == shop.source_rows(table) for table in TABLES), 300)
        see_the_asset(url)
    log = (shop.folder / "dagster.log").read_text()
    assert "shop_changes - shop.orders: " in log
    assert "a load is requested" in log
    assert PASSWORD not in log
    assert shop.run(end).count("dropped the slot") == 3


def see_the_asset(url: str) -> None:
    """Open the page of the asset, as the README says what it shows; without a browser, nothing is opened."""
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        return
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1600, "height": 1400})
        page.goto(f"{url}/assets/shop/orders", timeout=240_000)
        for text in ("paimon/lag_bytes", "paimon/lag_seconds", "paimon/slot_bytes", "shop_changes"):
            page.get_by_text(text, exact=True).first.wait_for(timeout=240_000)
        browser.close()

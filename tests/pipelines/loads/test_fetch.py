"""Files that a function of the lake brings before a load lists them."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimon_lake.declarations import SettingsError
from paimon_lake.declarations.sources.source import FilesSource
from paimon_lake.loads.files import source_files as files_module
from paimon_lake.loads.files.source_files import fetch_files, source_files
from paimon_lake.protocol import PipelineError
from paimon_lake.sources.fetch_step import FetchStep
from tests.support.lakes import SmallLake

ORDERS = """
    columns: {id: BIGINT}
    natural_key: [id]
    mode: append
    source: {type: files, path: "orders/{date}.csv", fetch: "shop:bring"}
    partitions: {by: day, start: 2024-01-01, end: 2024-01-31}
"""
BRING = """
    def bring(step):
        folder = step.landing / "orders"
        folder.mkdir(parents=True, exist_ok=True)
        for key in step.partitions or ("2024-01-01", "2024-01-02"):
            if not (folder / f"{key}.csv").exists():
                (folder / f"{key}.csv").write_text("id\\n" + key[-2:] + "\\n")
"""


@pytest.fixture
def orders(dry_lake: SmallLake) -> SmallLake:
    dry_lake.declare("shop.orders", ORDERS)
    dry_lake.file("shop.py", BRING)
    return dry_lake


def fetch(lake: SmallLake, partitions: tuple[str, ...] | None = None) -> FilesSource:
    spec = lake.settings.table("shop.orders")
    assert isinstance(spec.source, FilesSource)
    fetch_files(lake.settings, spec, spec.source, partitions)
    return spec.source


def test_files_are_brought_to_the_landing_directory_and_listed_there(orders: SmallLake) -> None:
    source = fetch(orders)
    listed = source_files(orders.settings, source, None)
    landing = orders.folder / "warehouse" / "landing" / "orders"
    assert [Path(file.path) for file in listed] == [landing / "2024-01-01.csv", landing / "2024-01-02.csv"]


def test_the_function_is_told_the_table_and_the_partitions(orders: SmallLake, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[FetchStep] = []
    monkeypatch.setattr(files_module, "function_of", lambda *_: told.append)
    fetch(orders)
    fetch(orders, ("2024-01-03",))
    landing = orders.folder / "warehouse" / "landing"
    assert told == [
        FetchStep("shop.orders", None, orders.folder, landing),
        FetchStep("shop.orders", ("2024-01-03",), orders.folder, landing),
    ]


def test_a_source_without_a_function_lists_files_beside_the_declarations(orders: SmallLake) -> None:
    orders.declare("shop.orders", ORDERS.replace(', fetch: "shop:bring"', ""))
    path = orders.file("orders/2024-01-05.csv", "id\n5\n")
    source = fetch(orders)
    assert [Path(file.path) for file in source_files(orders.settings, source, None)] == [path]
    assert not (orders.folder / "warehouse").exists()


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("def other(step):\n    pass", r"shop\.orders: .*shop\.py has no function bring"),
        ("def bring():\n    pass", r"shop\.orders: bring\(\) in .*shop\.py must take \(step\)"),
        ("import no_such_package", r"shop\.orders: .*shop\.py cannot be imported: No module named 'no_such_package'"),
    ],
)
def test_a_wrong_function_is_told(orders: SmallLake, code: str, message: str) -> None:
    orders.file("shop.py", code)
    with pytest.raises(PipelineError, match=message):
        fetch(orders)


def test_what_the_function_raises_is_passed_on(orders: SmallLake) -> None:
    orders.file("shop.py", "def bring(step):\n    raise ConnectionError('the server is away')\n")
    with pytest.raises(ConnectionError, match="the server is away"):
        fetch(orders)


def test_a_remote_warehouse_needs_a_landing_directory(orders: SmallLake) -> None:
    (orders.folder / "base.yaml").write_text("warehouse: s3://lake/w\n")
    with pytest.raises(PipelineError, match=r"shop\.orders: the warehouse s3://lake/w .*: set landing_directory"):
        fetch(orders)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"shop:bring"', '"bring"', "source.fetch: must be module:function, not 'bring'"),
        (
            "    partitions:",
            "    schedule: {on: files}\n    partitions:",
            r"schedule.on: files come when source.fetch is",
        ),
    ],
)
def test_a_wrong_declaration_is_refused(orders: SmallLake, old: str, new: str, message: str) -> None:
    orders.declare("shop.orders", ORDERS.replace(old, new))
    with pytest.raises(SettingsError, match=message):
        _ = orders.settings


def test_a_load_brings_the_files_of_its_partitions_and_loads_each_once(lake: SmallLake) -> None:
    lake.declare("shop.orders", ORDERS)
    lake.file("shop.py", BRING)
    assert lake.load("shop.orders", "2024-01-03").details["files_read"] == 1
    assert lake.rows("shop.orders") == [(3,)]
    assert lake.load("shop.orders").details["files_read"] == 2
    assert lake.rows("shop.orders") == [(1,), (2,), (3,)]
    assert lake.load("shop.orders").skipped == ("3 files loaded before",)

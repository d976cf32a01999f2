"""What the demo loads, and in which runs; the loads themselves are only recorded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pytest

from assets.demo.loads import load_tables
from assets.demo.runs import Demo
from paimon_lake.loads.files.source_files import source_files
from paimon_lake.loads.ledger.load_properties import load_user
from paimon_lake.loads.ledger.load_snapshot import FILES, TOTAL
from paimon_lake.loads.ledger.loaded_files import LoadedFiles
from paimon_lake.tables import open_table
from tests.support.lakes import SmallLake, small_lake

pytestmark = pytest.mark.filterwarnings("ignore::dagster.BetaWarning", "ignore::ResourceWarning")

ORDERS = """
    columns: {id: BIGINT}
    natural_key: [id]
    mode: append
    source: {type: files, path: "orders/{date}/*.csv"}
    partitions: {by: day, start: 2024-01-01, end: 2024-01-05}
    backfill_per_run: 2
"""
TOTAL_OF = """
    columns: {id: BIGINT}
    primary_key: [id]
    source: {type: sql, inputs: [shop.orders], query: SELECT max(id) AS id FROM shop.orders}
"""


class Recorded(Demo):
    """A demo whose runs are only written down: the tables, the first and the last partition."""

    def materialize(self, step: str, names: Sequence[str], first: str | None = None, last: str | None = None) -> None:
        self.seconds[f"{', '.join(names)} {first}..{last}"] = 0


class Loading(Recorded):
    """A demo whose runs each commit a snapshot."""

    def materialize(self, step: str, names: Sequence[str], first: str | None = None, last: str | None = None) -> None:
        super().materialize(step, names, first, last)
        for name in names:
            open_table(self.settings, name, create=True).write(pa.table({"id": [1]}))


@pytest.fixture
def lake(tmp_path: Path) -> SmallLake:
    lake = small_lake(tmp_path / "lake")
    lake.declare("shop.orders", ORDERS)
    for day in ("01", "02", "03", "05"):
        lake.file(f"orders/2024-01-{day}/a.csv", "id\n1\n")
    return lake


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as opened:
        yield opened


def runs(lake: SmallLake, instance: dg.DagsterInstance, last_day: date | None = None) -> list[str]:
    demo = Recorded(lake.settings, instance, dg.Definitions())
    load_tables(demo, last_day)
    return list(demo.seconds)


def loaded(lake: SmallLake) -> None:
    """Commit a load of all files that are there."""
    source: Any = lake.settings.table("shop.orders").source
    files = [(file.ledger_name, file.version) for file in source_files(lake.settings, source, None)]
    properties = {FILES: LoadedFiles().with_files(files).to_text(), TOTAL: str(len(files))}
    rows = pa.table({"id": [1]})
    lake.create("shop.orders").write(rows, user=load_user("shop.orders"), identifier=1, properties=properties)


def test_partitions_with_files_are_loaded_and_then_what_is_made_from_them(
    lake: SmallLake, instance: dg.DagsterInstance
) -> None:
    lake.declare("shop.a_total", TOTAL_OF)
    assert runs(lake, instance) == [
        "shop.orders 2024-01-01..2024-01-02",
        "shop.orders 2024-01-03..2024-01-03",
        "shop.orders 2024-01-05..2024-01-05",
        "shop.a_total None..None",
    ]


MONTHS = """
    columns: {id: BIGINT}
    primary_key: [id]
    source: {type: sql, inputs: [shop.orders], query: SELECT max(id) AS id FROM shop.orders}
    partitions: {by: month, start: 2023-12-01, end: 2024-02-29}
"""


def test_partitions_whose_inputs_changed_are_made_again(lake: SmallLake, instance: dg.DagsterInstance) -> None:
    lake.declare("shop.months", MONTHS)
    lake.create("shop.months")
    for month in ("2023-12", "2024-01", "2024-02"):
        instance.report_runless_asset_event(dg.AssetMaterialization(asset_key=["shop", "months"], partition=month))
    demo = Loading(lake.settings, instance, dg.Definitions())
    load_tables(demo, None)
    assert list(demo.seconds)[-1] == "shop.months 2024-01..2024-01"


def test_tables_with_the_same_partitions_share_runs(lake: SmallLake, instance: dg.DagsterInstance) -> None:
    lake.declare("shop.more", ORDERS)
    assert runs(lake, instance)[0] == "shop.more, shop.orders 2024-01-01..2024-01-02"


def test_partitions_after_the_last_day_are_left_out(lake: SmallLake, instance: dg.DagsterInstance) -> None:
    assert runs(lake, instance, date(2024, 1, 2)) == ["shop.orders 2024-01-01..2024-01-02"]


def test_all_hours_of_the_last_day_are_loaded(lake: SmallLake, instance: dg.DagsterInstance) -> None:
    declared = ORDERS.replace("{date}", "{hour}").replace("by: day", "by: hour").replace("per_run: 2", "per_run: 99")
    lake.declare("shop.orders", declared)
    for hour in ("2024-01-01-23", "2024-01-02-00", "2024-01-02-01", "2024-01-03-00"):
        lake.file(f"orders/{hour}/a.csv", "id\n1\n")
    assert runs(lake, instance, date(2024, 1, 2)) == ["shop.orders 2024-01-01-23:00..2024-01-02-01:00"]


def test_late_files_are_loaded(
    lake: SmallLake, instance: dg.DagsterInstance, capsys: pytest.CaptureFixture[str]
) -> None:
    loaded(lake)
    assert runs(lake, instance) == []
    assert "everything was loaded before: nothing is added again" in capsys.readouterr().out
    lake.file("orders/2024-01-02/late.csv", "id\n2\n")
    assert runs(lake, instance) == ["shop.orders 2024-01-02..2024-01-02"]


def test_of_files_that_are_brought_every_partition_is_loaded_once(
    lake: SmallLake, instance: dg.DagsterInstance
) -> None:
    lake.declare("shop.orders", ORDERS.replace("type: files,", "type: files, fetch: 'shop:bring',"))
    lake.create("shop.orders")
    event = dg.AssetMaterialization(asset_key=["shop", "orders"], partition="2024-01-03")
    instance.report_runless_asset_event(event)
    assert runs(lake, instance) == ["shop.orders 2024-01-01..2024-01-02", "shop.orders 2024-01-04..2024-01-05"]

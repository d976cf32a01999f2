"""The demo on a small lake, in this process: what it loads, compacts and checks."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from pyspark.sql import SparkSession

from assets.demo import run as demo
from assets.demo.runs import Demo
from paimon_dagster import resources
from paimon_dagster.resources import SparkResource
from paimon_lake.declarations import Settings
from paimon_lake.tables import open_table
from tests.support.lakes import small_lake
from tests.support.orders_lake import DAYS, ORDERS_A_DAY, TABLES, orders_lake

pytestmark = pytest.mark.filterwarnings("ignore::dagster.BetaWarning", "ignore::ResourceWarning")


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    for name in ("DAGSTER_HOME", "PAIMON_LAKE_CONFIGS"):  # which the demo sets
        monkeypatch.setenv(name, "")
    monkeypatch.setenv("PAIMON_ENV", "local")
    return orders_lake(tmp_path / "lake")


class Recorded(Demo):
    """A demo whose jobs are only written down."""

    def run_job(self, step: str, title: str, name: str, config: Mapping[str, Any] | None = None) -> None:
        self.seconds[f"{name} {title}"] = 0


def test_by_hand_a_partition_is_compacted_that_a_person_can_name(tmp_path: Path) -> None:
    lake = small_lake(tmp_path / "lake")
    for name, kind in (("shop.dates", "DATE"), ("shop.texts", "STRING")):
        lake.declare(name, f"columns: {{part: {kind}}}\nnatural_key: part\npartition_by: part\n")
    lake.create("shop.dates").write([{"part": None}, {"part": date(2024, 1, 1)}, {"part": date(2024, 1, 2)}])
    with dg.DagsterInstance.ephemeral() as instance:
        recorded = Recorded(lake.settings, instance, dg.Definitions())
        lake.create("shop.texts").write([{"part": None}])
        demo.compact_by_hand(recorded)
        assert recorded.seconds == {}
        lake.table("shop.texts").write([{"part": "a"}])
        demo.compact_by_hand(recorded)
        assert list(recorded.seconds) == ["compact__shop_texts by hand: a, full"]


def test_a_lake_is_loaded_compacted_and_checked(
    settings: Settings, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(resources, "start_session", lambda settings: spark)
    monkeypatch.setattr(SparkResource, "teardown_after_execution", lambda self, context: None)
    assert demo.main(["--configs", str(settings.folder)]) == 0
    said = capsys.readouterr().out
    tables = {name: open_table(settings, name) for name in TABLES}
    counts = {name: table.scan().count() for name, table in tables.items()}
    assert counts == {"shop.orders": len(DAYS) * ORDERS_A_DAY, "shop.customers": 2, "dws.revenue": 4}
    files = tables["shop.orders"].inspect.files().to_pylist()
    assert {file["level"] > 0 for file in files if file["partition"] == "{2024-01}"} == {True}
    assert "by hand: 2024-01, full" in said
    assert "2024-01-15 to 2024-02-14" in said
    assert "17 checks passed" in said
    assert "health of the lake" in said
    assert f"`make ui CONFIGS={settings.folder}`" in said

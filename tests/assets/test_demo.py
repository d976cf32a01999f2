"""The demo on a small lake: what it loads and maintains, and how it cuts ranges of partitions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

import dagster as dg
import pytest
from pyspark.sql import SparkSession

from assets import demo
from assets.demo_loads import load_tables
from assets.demo_runs import Demo
from assets.lake import build_definitions
from assets.resources import SparkResource
from pipelines.lake import Settings
from pipelines.tables import open_table
from tests.support.orders_lake import DAYS, ORDERS_A_DAY, TABLES, orders_lake

pytestmark = pytest.mark.filterwarnings("ignore::dagster.BetaWarning", "ignore::ResourceWarning")


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    for name in ("DAGSTER_HOME", "PAIMON_LAKE_CONFIGS"):  # which the demo sets
        monkeypatch.setenv(name, "")
    monkeypatch.setenv("PAIMON_ENV", "local")
    return orders_lake(tmp_path / "lake")


def test_a_lake_is_loaded_compacted_and_checked(
    settings: Settings, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("assets.resources.start_session", lambda settings: spark)
    monkeypatch.setattr(SparkResource, "teardown_after_execution", lambda self, context: None)
    assert demo.main(["--configs", str(settings.folder)]) == 0
    said = capsys.readouterr().out
    tables = {name: open_table(settings, name) for name in TABLES}
    counts = {name: table.scan().count() for name, table in tables.items()}
    assert counts == {"shop.orders": len(DAYS) * ORDERS_A_DAY, "shop.customers": 2, "dws.revenue": 4}
    files = tables["shop.orders"].inspect.files().to_pylist()
    assert {file["level"] > 0 for file in files if file["partition"] == "month=2024-01"} == {True}
    assert "by hand: 2024-01, full" in said
    assert "2024-01-15 to 2024-02-14" in said
    assert "13 checks passed" in said
    assert f"`make ui CONFIGS={settings.folder}`" in said


@dataclass
class Recorded(Demo):
    """Keeps what it is asked to materialize."""

    asked: list[tuple[str | None, str | None]] = field(default_factory=list)

    def materialize(self, step: str, names: Sequence[str], first: str | None = None, last: str | None = None) -> None:
        if "shop.orders" in names:
            self.asked.append((first and first[5:], last and last[5:]))


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as opened:
        yield opened


@pytest.mark.parametrize(
    ("most", "to", "expected"),
    [
        (31, None, [("01-15", "01-19"), ("01-21", "02-14")]),
        (20, None, [("01-15", "01-19"), ("01-21", "02-09"), ("02-10", "02-14")]),
        (31, date(2024, 1, 25), [("01-15", "01-19"), ("01-21", "01-25")]),
    ],
)
def test_days_without_files_are_left_out_and_ranges_have_the_most_days_of_a_run(
    settings: Settings,
    instance: dg.DagsterInstance,
    most: int,
    to: date | None,
    expected: list[tuple[str, str]],
) -> None:
    (settings.folder / "data" / "2024-01-20.csv").unlink()
    spec = settings.table("shop.orders").model_copy(update={"backfill_per_run": most})
    changed = settings.model_copy(update={"tables": {**settings.tables, "shop.orders": spec}})
    recorded = Recorded(changed, instance, build_definitions(changed))
    load_tables(recorded, to)
    assert recorded.asked == expected

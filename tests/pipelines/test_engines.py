"""The steps on tables with other merge engines, changelogs and nested columns, as YAML files declare them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.audit import audit_files, audit_keys
from pipelines.carrier_day import content_version
from pipelines.expiry import expire
from pipelines.lake import CONFIGS, Settings, load_settings
from pipelines.maintenance import compact, tag
from pipelines.protocol import StepResult
from pipelines.tables import Stage, is_awaited, load, open_table

ORDERS = """
comment: orders, summed as they come
columns:
  id: BIGINT
  total: BIGINT
  lines: ARRAY<ROW<item STRING, price DECIMAL(9, 2)>>
  labels: MAP<STRING, TIMESTAMP(6)>
primary_key: [id]
options:
  bucket: "1"
  write-only: "true"
  merge-engine: aggregation
  fields.total.aggregate-function: sum
  fields.lines.aggregate-function: collect
  changelog-producer: lookup
owners: [team:orders]
retention: {keep_snapshots: 1, keep_hours: 0, keep_tags_days: 30}
"""
FIRSTS = """
comment: what came first
columns: {id: BIGINT, total: BIGINT}
primary_key: [id]
options: {bucket: "1", write-only: "true", merge-engine: first-row}
owners: [team:orders]
"""
FRAME = "id bigint, total bigint, lines array<struct<item:string,price:decimal(9,2)>>, labels map<string,timestamp_ntz>"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    configs = Path(shutil.copytree(CONFIGS, tmp_path / "configs"))
    (configs / "tables" / "ods.orders.yaml").write_text(ORDERS)
    (configs / "tables" / "ods.firsts.yaml").write_text(FIRSTS)
    return load_settings("local", warehouse=str(tmp_path / "lake"), configs=configs)


Loaded = Callable[[str, str], StepResult]


@pytest.fixture
def loaded(spark: SparkSession, settings: Settings) -> Loaded:
    """Load two commits of the same three keys into a table, under a name of the load."""

    def do(name: str, user: str) -> StepResult:
        table = open_table(settings, name, create=True)
        rows = [(k, 10, [(f"i{k}", None)], {}) for k in range(3)]

        def frame() -> object:
            return spark.createDataFrame(rows, FRAME).select(*table.schema.names)

        return load("load", table, [Stage("a", frame), Stage("b", frame)], user=user)  # type: ignore[arg-type]

    return do


def test_a_compactor_beside_write_only_loads_tells_the_changes(
    settings: Settings, spark: SparkSession, loaded: Loaded
) -> None:
    assert loaded("ods.orders", "one").commits == (1, 2)
    table = open_table(settings, "ods.orders")
    assert str(table.schema.by_name["lines"].type) == "ARRAY<ROW<item STRING, price DECIMAL(9, 2)>>"
    assert table.changes().read_all().num_rows == 0
    assert is_awaited(table)
    assert compact(lambda: spark, settings, "ods.orders").commits == (3,)
    assert not is_awaited(table)
    assert table.changes(columns=["total"]).read_all()["total"].to_pylist() == [20, 20, 20]
    assert loaded("ods.orders", "one").skipped == ("a", "b")

    tag(settings, "ods.orders", "kept")
    loaded("ods.orders", "two")
    compact(lambda: spark, settings, "ods.orders")
    changed = table.changes(after=3, columns=["total"]).read_all()
    assert changed["rowkind"].to_pylist() == ["-U", "+U"] * 3
    assert changed["total"].to_pylist() == [20, 40] * 3
    assert table.scan(columns=["lines"]).to_arrow()["lines"].to_pylist()[1] == [{"item": "i1", "price": None}] * 4

    folder = Path(settings.warehouse, "ods.db", "orders", "bucket-0")
    assert len(list(folder.glob("changelog-*"))) == 2
    gone = expire(lambda: spark, settings, "ods.orders").details
    assert (gone["expired_snapshots"], gone["snapshots_left"]) == (5, 1)
    assert len(list(folder.glob("changelog-*"))) == 1
    assert table.at(tag="kept").scan(columns=["total"]).to_arrow()["total"].to_pylist() == [20, 20, 20]
    assert audit_files(settings, "ods.orders").passed
    assert audit_keys(settings, "ods.orders").passed


def test_rows_of_a_first_row_table_show_once_they_are_compacted(
    settings: Settings, spark: SparkSession, loaded: Loaded
) -> None:
    assert loaded("ods.firsts", "one").row_count == 0
    table = open_table(settings, "ods.firsts")
    before = content_version(table)
    assert is_awaited(table)
    assert compact(lambda: spark, settings, "ods.firsts").row_count == 3
    assert content_version(table) != before, "who reads this table must read it again"
    assert not is_awaited(table)

"""The steps on tables with other merge engines, changelogs and nested columns, as YAML files declare them."""

from __future__ import annotations

import json
from pathlib import Path

from paimon_lake.loads.inputs.content_version import content_version
from paimon_lake.steps.audits.audit import audit
from paimon_lake.steps.upkeep.expiry import expire
from paimon_lake.steps.upkeep.maintenance import compact, tag
from paimon_lake.tables import is_awaited
from tests.support.lakes import SmallLake

ORDERS = """
comment: orders, summed as they come
columns:
  id: BIGINT
  total: BIGINT
  lines: ARRAY<ROW<item STRING, price DECIMAL(9, 2)>>
  labels: MAP<STRING, TIMESTAMP(6)>
primary_key: [id]
options:
  merge-engine: aggregation
  fields.total.aggregate-function: sum
  fields.lines.aggregate-function: collect
  changelog-producer: lookup
source: {type: files, path: "in/*.jsonl"}
retention: {keep_snapshots: 1, keep_hours: 0, keep_tags_days: 30}
"""
FIRSTS = """
comment: what came first
columns: {id: BIGINT, total: BIGINT}
primary_key: [id]
options: {merge-engine: first-row}
source: {type: files, path: "firsts/*.jsonl"}
"""


def three_orders(lake: SmallLake, path: str) -> None:
    orders = [{"id": k, "total": 10, "lines": [{"item": f"i{k}", "price": None}], "labels": {}} for k in range(3)]
    lake.file(path, "\n".join(map(json.dumps, orders)))


def test_a_compactor_beside_write_only_loads_tells_the_changes(lake: SmallLake) -> None:
    lake.declare("shop.orders", ORDERS)
    for number, path in enumerate(("in/a.jsonl", "in/b.jsonl"), 1):
        three_orders(lake, path)
        assert lake.load("shop.orders").commits == (number,)
    table = lake.table("shop.orders")
    assert str(table.schema.by_name["lines"].type) == "ARRAY<ROW<item STRING, price DECIMAL(9, 2)>>"
    assert table.changes(way="changelog").to_arrow().num_rows == 0
    assert is_awaited(table)
    assert compact(lake.spark, lake.settings, "shop.orders").commits == (3,)
    assert not is_awaited(table)
    assert table.changes(columns=["total"], way="changelog").to_arrow()["total"].to_pylist() == [20, 20, 20]

    tag(lake.settings, "shop.orders", "kept")
    tagged = table.tags.read("kept").snapshot.id
    three_orders(lake, "in/c.jsonl")
    lake.load("shop.orders")
    compact(lake.spark, lake.settings, "shop.orders")
    changed = table.changes(start=tagged, columns=["total"], way="changelog").to_arrow()
    assert changed["rowkind"].to_pylist() == ["-U", "+U"] * 3
    assert changed["total"].to_pylist() == [20, 30] * 3
    assert table.scan(columns=["lines"]).to_arrow()["lines"].to_pylist()[1] == [{"item": "i1", "price": None}] * 3

    folder = Path(table.location, "bucket-0")
    assert len(list(folder.glob("changelog-*"))) == 2
    assert expire(lake.spark, lake.settings, "shop.orders").details["snapshots_left"] <= 2, "one may carry the ledger"
    expire(lake.spark, lake.settings, "shop.orders")
    assert len(list(folder.glob("changelog-*"))) < 2
    assert table.at(tag="kept").scan(columns=["total"]).to_arrow()["total"].to_pylist() == [20, 20, 20]
    assert lake.load("shop.orders").skipped == ("3 files loaded before",)
    assert all(finding.passed for finding in audit(lake.settings, "shop.orders"))


def test_rows_of_a_first_row_table_show_once_they_are_compacted(lake: SmallLake) -> None:
    lake.declare("shop.firsts", FIRSTS)
    lake.file("firsts/a.jsonl", "".join(f'{{"id": {k}, "total": 10}}\n' for k in range(3)))
    assert lake.load("shop.firsts").row_count == 0
    table = lake.table("shop.firsts")
    before = content_version(table)
    assert is_awaited(table)
    assert compact(lake.spark, lake.settings, "shop.firsts").row_count == 3
    assert content_version(table) != before, "who reads this table must read it again"
    assert not is_awaited(table)

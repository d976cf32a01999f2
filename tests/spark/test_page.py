"""The code of docs/spark.md and of Spark in docs/streams.md runs in the order of the pages."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import paimon_core as paimon
from tests.support.project import ROOT

pytestmark = [pytest.mark.long, pytest.mark.spark]


def blocks_of(page: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", (ROOT / "docs" / page).read_text(), re.DOTALL | re.MULTILINE)


def test_the_code_of_the_pages_runs(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    catalog = paimon.open_catalog(str(tmp_path / "lake"))
    for name in ("shop", "ods", "dwd"):
        catalog.create_database(name)
    columns = {"day": "STRING", "id": "BIGINT", "price": "DOUBLE"}
    keys: dict[str, Any] = {"primary_key": ["day", "id"], "partition_by": "day", "options": {"bucket": "1"}}
    orders = catalog.create_table("shop.orders", columns, **keys)
    orders.write([{"day": "mon", "id": at, "price": 10.0 + at} for at in (1, 2)])
    catalog.create_table("shop.copies", {"id": "BIGINT", "price": "DOUBLE"}, primary_key="id")
    landing = tmp_path / "landing"
    (landing / "orders").mkdir(parents=True)
    (tmp_path / "arrived").mkdir()
    (tmp_path / "arrived" / "new.json").write_text('{"day": "thu", "id": 4, "price": 5.0}\n')
    pq.write_table(pa.table({"day": ["fri"], "id": [5], "price": [6.0]}), landing / "orders" / "a.parquet")
    for name in ("day1.csv", "day2.csv.gz"):
        with pa.output_stream(landing / name) as out:  # compressed by its name
            out.write(b"day;id;price\nsat;6;7.0\n")
    *blocks, sql = blocks_of("spark.md")
    assert len(blocks) == 7

    def placed(code: str) -> str:
        """Code whose folders are those of the test: the JVM has another working directory."""
        places = {'"/landing': f'"{landing}', '"landing"': f'"{tmp_path}/arrived"', '"lake"': f'"{tmp_path}/lake"'}
        for name, place in {**places, '"checkpoints/': f'"{tmp_path}/checkpoints/'}.items():
            code = code.replace(name, place)
        return code

    for block in blocks:
        exec(placed(block), {"spark": spark, "orders": orders})  # noqa: S102
    rows = {(row["day"], row["id"]): row["price"] for row in orders.scan().to_arrow().to_pylist()}
    assert rows == {("mon", 1): 6.5, ("wed", 3): 4.0, ("thu", 4): 5.0, ("fri", 5): 6.0, ("sat", 6): 7.0}
    assert catalog.table("shop.copies").scan().count() == 2

    exec(sql, {"spark": spark, "catalog": paimon.open_catalog(str(tmp_path / "other"))})  # noqa: S102

    for name in ("ods.orders", "dwd.orders"):
        catalog.create_table(name, columns, **keys)
    catalog.table("ods.orders").write([{"day": "mon", "id": 1, "price": 1.0}])
    (stream,) = [block for block in blocks_of("streams.md") if "spark" in block]
    found: dict[str, Any] = {"spark": spark}
    exec(placed(stream), found)  # noqa: S102
    found["query"].processAllAvailable()
    found["query"].stop()
    assert catalog.table("dwd.orders").scan().count() == 1

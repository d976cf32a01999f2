"""A lake on an S3 server: load, aggregate, compact, expire, sweep and check; the keys are never told."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from paimon_lake.declarations import Settings, load_settings
from paimon_lake.loads.load import load_table
from paimon_lake.overview import existing
from paimon_lake.steps.audits.audit import audit
from paimon_lake.steps.audits.check_and_rollback import fsck
from paimon_lake.steps.upkeep.expiry import expire
from paimon_lake.steps.upkeep.maintenance import compact, tag
from paimon_lake.steps.upkeep.sweep import sweep
from paimon_lake.tables import open_lake, open_table
from tests.support.lakes import SmallLake
from tests.support.object_servers import make_bucket, s3_server
from tests.support.project import CONFIGS

SECRET = "canary-Zk3/not-to-be-seen"
ORDERS, MONTHS = "shop.orders", "shop.months"
DECLARED = {
    ORDERS: """
        columns: {month: STRING, day: STRING, id: BIGINT}
        primary_key: [month, id]
        partition_by: [month]
        source: {type: files, path: "orders/{date}.csv", fetch: "shop:bring", add: {day: partition}}
        partitions: {by: day, start: 2024-01-01, end: 2024-12-31, column: day}
        rejects: {max_share: 0.5}
        retention: {keep_snapshots: 1, keep_hours: 0}
    """,
    MONTHS: """
        columns: {month: STRING, orders: BIGINT}
        natural_key: [month]
        partition_by: [month]
        partitions: {by: month, start: 2024-01-01, end: 2024-12-31, column: month}
        source:
          type: sql
          inputs: [shop.orders]
          query: SELECT month, count(*) AS orders FROM shop.orders GROUP BY month
        mark_done: true
    """,
    "shop.stored": """
        columns: {id: BIGINT}
        natural_key: [id]
        mode: append
        source: {type: files, path: "s3://lake/w/in/*.csv"}
    """,
}
BRING = """
    def bring(step):
        (step.landing / "orders").mkdir(parents=True, exist_ok=True)
        for day in step.partitions:
            text = f"month,id\\n{day[:7]},1\\n{day[:7]},{day[-2:]}\\n"
            target = step.landing / "orders" / f"{day}.csv"
            if not target.exists():
                target.write_text(text + "x,none\\n")
"""


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with s3_server() as started:
        make_bucket(started, "lake")
        yield started


@pytest.fixture
def settings(endpoint: str, lake: SmallLake, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """The project's settings of S3 with the tables of this test."""
    variables = {"ENDPOINT": endpoint, "REGION": "us-east-1", "ACCESS_KEY": "test", "SECRET_KEY": SECRET}
    for name, value in variables.items():
        monkeypatch.setenv(f"PAIMON_S3_{name}", value)
    monkeypatch.setenv("PAIMON_LANDING", str(lake.folder / "landing"))
    for name in ("base.yaml", "s3.yaml"):
        shutil.copy(CONFIGS / name, lake.folder)
    for name, text in DECLARED.items():
        lake.declare(name, text)
    lake.file("shop.py", BRING)
    return load_settings("s3", warehouse="s3://lake/w", configs=lake.folder)


def test_a_lake_on_s3(settings: Settings, lake: SmallLake) -> None:
    days = ["2024-01-30", "2024-01-31", "2024-02-01"]
    results = [load_table(lake.spark, settings, ORDERS, days)]
    assert (results[0].row_count, results[0].details["rows_rejected"]) == (4, 3)
    assert load_table(lake.spark, settings, ORDERS, days).commits == ()
    results.append(load_table(lake.spark, settings, MONTHS))
    open_lake(settings).storage.write("s3://lake/w/in/a.csv", b"id\n7\n")
    results.append(load_table(lake.spark, settings, "shop.stored"))
    load_table(lake.spark, settings, ORDERS, ["2024-02-02"])
    results.append(compact(lake.spark, settings, ORDERS, full=True))
    assert results[-1].files == 2
    results += [tag(settings, ORDERS, "eod"), expire(lake.spark, settings, ORDERS), sweep(lake.spark, settings, ORDERS)]
    assert load_table(lake.spark, settings, ORDERS, days).commits == (), "the expiry kept the ledger"
    results += [fsck(settings, ORDERS, deep=True), fsck(settings, MONTHS)]
    assert existing(settings) == [ORDERS, "shop.stored", MONTHS]
    counts = open_table(settings, MONTHS).scan().to_arrow().sort_by("month").to_pylist()
    assert counts == [{"month": "2024-01", "orders": 3}, {"month": "2024-02", "orders": 1}]
    assert open_table(settings, "shop.stored").scan().to_arrow()["id"].to_pylist() == [7]
    for name in existing(settings):
        wrong = [finding.sentence for finding in audit(settings, name) if not finding.passed]
        stale = ["partition 2024-02 (shop.orders changed after snapshot 1); load them again"] if name == MONTHS else []
        assert wrong == stale
    said = "".join(result.to_json() + result.sentence() for result in results) + repr(settings)
    assert SECRET not in said
    assert SECRET not in repr(open_table(settings, ORDERS).context)
    assert SECRET in os.environ.values()
    assert not [p for p in Path(lake.folder).rglob("*") if p.is_file() and SECRET in p.read_text(errors="replace")]

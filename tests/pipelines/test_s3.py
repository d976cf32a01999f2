"""A lake on an S3 server: ingest, aggregate, compact, expire, sweep and check; the keys are never told."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines import source
from pipelines.audit import audit
from pipelines.care import fsck
from pipelines.carrier_day import CARRIER_DAY, aggregate_carrier_day
from pipelines.expiry import expire
from pipelines.flights import FLIGHTS, ingest_flights
from pipelines.lake import Settings, load_settings
from pipelines.maintenance import compact, tag
from pipelines.show import existing
from pipelines.sweep import sweep
from pipelines.tables import open_table
from tests.support.object_servers import make_bucket, s3_server

DAYS = (date(2013, 1, 31), date(2013, 2, 1))
SECRET = "canary-Zk3/not-to-be-seen"


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with s3_server() as started:
        make_bucket(started, "lake")
        yield started


@pytest.fixture
def settings(endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    variables = {"ENDPOINT": endpoint, "REGION": "us-east-1", "ACCESS_KEY": "test", "SECRET_KEY": SECRET}
    for name, value in variables.items():
        monkeypatch.setenv(f"PAIMON_S3_{name}", value)
    monkeypatch.setenv("PAIMON_LANDING", str(tmp_path / "landing"))
    return load_settings("s3", warehouse="s3://lake/w")


def test_a_lake_on_s3(settings: Settings, spark: SparkSession) -> None:
    session = lambda: spark  # noqa: E731
    results = [ingest_flights(session, settings, DAYS)]
    assert results[0].row_count == sum(source.departed_per_day()[day] for day in DAYS)
    assert ingest_flights(session, settings, DAYS).commits == ()
    results.append(aggregate_carrier_day(session, settings, ["2013-01", "2013-02"]))
    results.append(compact(session, settings, FLIGHTS, full=True))
    assert results[-1].files == 4
    results += [tag(settings, FLIGHTS, "eod"), expire(session, settings, FLIGHTS), sweep(session, settings, FLIGHTS)]
    results += [fsck(settings, FLIGHTS, deep=True), fsck(settings, CARRIER_DAY)]
    assert existing(settings) == [FLIGHTS, CARRIER_DAY]
    for name in existing(settings):
        assert all(finding.passed for finding in audit(settings, name, DAYS)), audit(settings, name, DAYS)
    said = "".join(result.to_json() + result.sentence() for result in results) + repr(settings)
    assert SECRET not in said
    assert SECRET not in repr(open_table(settings, FLIGHTS).context)
    assert SECRET in os.environ.values()

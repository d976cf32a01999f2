"""Forecasts of a first compaction: keys that are read say how many rows a merge leaves."""

import logging

import numpy as np
import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.errors import StorageError
from paimon_core.health.plan import sampled, sampled_keys
from paimon_core.table.upkeep.maintenance_plan import plan_tables

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string()), ("day", pa.int32()), ("text", pa.string())])


@pytest.fixture
def catalog(warehouse):
    made = paimon.open_catalog(warehouse)
    made.create_database("db")
    return made


def table_of(catalog, key, partition_by=(), commits=6, **options):
    options = {"bucket": "2", "write-only": "true"} | options
    table = catalog.create_table(
        "db.t", SCHEMA, primary_key=[*partition_by, *key], partition_by=partition_by, options=options
    )
    for seed in range(commits):
        rng = np.random.default_rng(seed)
        ids = rng.choice(4_000, 2_000, replace=False)
        names, texts = [f"n{n * 7919 % 4_000}" for n in ids], [f"{n:x}" for n in rng.integers(1 << 20, 1 << 32, 2_000)]
        days = np.full(2_000, 1, np.int32) if not partition_by else (ids % 3).astype(np.int32)
        table.write(pa.table([ids, names, days, texts], schema=SCHEMA))
    return table


@pytest.mark.parametrize(
    ("key", "partition_by", "keys"),
    [(["id", "name"], [], 20_000), (["name"], [], 20_000), (["id"], ["day"], 20_000), (["id", "name"], [], 300)],
)
def test_a_first_compaction_is_predicted_within_ten_percent(catalog, monkeypatch, key, partition_by, keys):
    monkeypatch.setattr(sampled_keys, "KEYS", keys)
    table = table_of(catalog, key, partition_by)
    blind = plan_tables([table], sample_keys=False)
    plan = plan_tables([table])
    assert plan.bytes < 0.95 * blind.bytes
    assert [(c.bucket, c.partition) for c in plan.chosen] == [(c.bucket, c.partition) for c in blind.chosen]
    report = plan.run()
    assert {one.status for one in report.outcomes} == {"done"}
    assert max(abs(one.prediction_error) for one in report.outcomes) < 0.1


def test_ranges_that_tell_enough_are_not_sampled_and_few_buckets_are(catalog, monkeypatch):
    read = []
    domain = sampled_keys.sampled_domain

    def counted(context, task):
        read.append(domain(context, task))
        return read[-1]

    monkeypatch.setattr(sampled, "sampled_domain", counted)
    numbers = table_of(catalog, ["id"])
    plan_tables([numbers])
    assert read == [None, None]
    catalog.drop_table("db.t")
    monkeypatch.setattr(sampled, "BUCKETS", 1)
    plan_tables([table_of(catalog, ["id", "name"])])
    assert len(read) == 3


def test_keys_that_cannot_be_read_leave_the_forecast_as_it_is(catalog, monkeypatch, caplog):
    table = table_of(catalog, ["id", "name"])
    blind = plan_tables([table], sample_keys=False)

    def failing(context, task):
        raise StorageError("no answer")

    monkeypatch.setattr(sampled, "sampled_domain", failing)
    with caplog.at_level(logging.WARNING):
        assert plan_tables([table]).chosen == blind.chosen
    assert "the keys of table db.t cannot be read for a forecast: no answer" in caplog.text


def test_the_least_key_needs_no_python_value():
    far = pa.array([10**18 + 1, 10**18, 10**18], pa.timestamp("us"))  # after the year 9999
    keys = pa.table({"a": far, "b": pa.array([1, 3, 2], pa.timestamp("ns"))})
    assert sampled_keys._up_to(keys, sampled_keys._least(keys)).to_pylist() == [False, False, True]

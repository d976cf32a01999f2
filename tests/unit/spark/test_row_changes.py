"""Row changes without Spark: the parts of a plan, the Bloom filter of keys, and errors of tasks."""

import contextlib
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from pyspark.errors import PySparkException

from paimon_core.errors import CorruptTable, InvalidRequest, SchemaMismatch, StorageError
from paimon_core.schema import new_schema
from paimon_core.spark.row_changes.key_filter import MOST_KEYS, filter_of_keys
from paimon_core.spark.task_errors import errors_of_tasks, lost_tasks

FIELDS = new_schema(pa.schema([("k", pa.int64()), ("s", pa.string())])).fields


class Keys:
    """A DataFrame of keys that runs its function at once."""

    def __init__(self, rows):
        self.rows, self.columns = rows, rows.column_names

    def mapInArrow(self, function, schema):
        batches = list(function(iter(self.rows.to_batches())))
        found = [(row["positions"],) for batch in batches for row in batch.to_pylist()]
        return SimpleNamespace(collect=lambda: found)


@pytest.fixture(autouse=True)
def without_settings(monkeypatch):
    monkeypatch.setattr("paimon_core.spark.row_changes.key_filter.large_batches", contextlib.nullcontext)


def test_the_filter_passes_every_key_and_few_others():
    keys = pa.table({"k": np.arange(0, 40_000, 2), "s": ["x"] * 20_000})
    found = filter_of_keys(Keys(keys), FIELDS, len(keys))
    assert found.may_match(keys).all()
    others = pa.table({"k": np.arange(1, 40_000, 2), "s": ["x"] * 20_000})
    assert found.may_match(others).mean() < 0.06


def test_keys_of_spark_in_other_units_are_the_keys_of_the_table():
    schema = pa.schema([("at", pa.timestamp("ms")), ("time", pa.time32("ms"))])
    rows = pa.table({"at": [1, 2, None], "time": [3, 4, 5]}, pa.schema([("at", pa.int64()), ("time", pa.int32())]))
    rows = rows.cast(schema)
    keys = rows.cast(pa.schema([("at", pa.timestamp("us")), ("time", pa.time64("ns"))]))
    assert filter_of_keys(Keys(keys), new_schema(schema).fields, 3).may_match(rows).all()


def test_no_key_and_too_many_keys():
    none = pa.table({"k": pa.array([], pa.int64()), "s": pa.array([], pa.string())})
    assert not filter_of_keys(Keys(none), FIELDS, 0).may_match(pa.table({"k": [1], "s": ["a"]})).any()
    assert filter_of_keys(Keys(none), FIELDS, MOST_KEYS + 1) is None


def test_an_error_of_a_task_is_raised_again():
    text = "Job aborted: x\nTraceback\npaimon_core.errors.SchemaMismatch: column k is wrong\n"
    with pytest.raises(SchemaMismatch, match=r"^column k is wrong$"), errors_of_tasks("t"):
        raise PySparkException(text)
    with pytest.raises(InvalidRequest, match=r"^only one may$"), errors_of_tasks("t"):
        raise PySparkException("[RAISED] paimon_core.errors.InvalidRequest: only one may SQLSTATE: P0001")
    with pytest.raises(CorruptTable) as raised, errors_of_tasks("t"):
        raise PySparkException("paimon_core.errors.CorruptTable: file x is missing")
    assert raised.value.facts == {"missing": True}
    with pytest.raises(PySparkException, match="no disk"), errors_of_tasks("t"):
        raise PySparkException("no disk")


@pytest.mark.parametrize("context", [errors_of_tasks, lost_tasks])
@pytest.mark.parametrize("reason", ["Python worker exited unexpectedly (crashed).", "ExecutorLostFailure (executor 1)"])
def test_a_lost_task_names_the_table(context, reason):
    text = f"An error\n: org.SparkException: Job aborted due to stage failure: Task 1 failed 4 times: {reason}\n\tat x"
    wanted = r"^table db\.t: a Spark task was lost .*: Job aborted .* 4 times: \w+"
    with pytest.raises(StorageError, match=wanted) as raised, context("db.t"):
        raise PySparkException(text)
    assert raised.value.facts == {"table": "db.t"}
    assert "at x" not in str(raised.value)

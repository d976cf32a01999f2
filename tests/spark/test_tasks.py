"""Tasks in Spark: one per payload, answers in order, and the error of a task with its last line."""

import os

import pytest
from pyspark import TaskContext
from pyspark.errors import PythonException

from paimon_core.errors import SchemaMismatch
from paimon_core.parallel_work import own_processors
from paimon_core.processors import usable
from paimon_core.spark import tasks
from paimon_core.spark.tasks import collect_tasks
from paimon_lake.session import spark_reason


@pytest.fixture(params=["rdd", "frame"])
def way(request, monkeypatch):
    """Both ways: the RDD, and the DataFrame that a session of Spark Connect gets."""
    if request.param == "frame":
        monkeypatch.setattr(tasks, "spark_context", lambda session: None)


def partition(payload):
    return payload + b" in %d" % TaskContext.get().partitionId()


@pytest.mark.usefixtures("way")
def test_each_payload_has_a_task_and_answers_keep_their_order(spark):
    payloads = [b"", b"b", b"a", b"a", bytes(range(256))]
    assert collect_tasks(spark, payloads, partition) == [p + b" in %d" % n for n, p in enumerate(payloads)]


@pytest.mark.usefixtures("way")
def test_the_error_of_a_task_names_its_cause(spark):
    def fail(payload):
        raise SchemaMismatch(f"column {payload.decode()} is wrong")

    with pytest.raises(PythonException) as raised:
        collect_tasks(spark, [b"x"], fail)
    assert spark_reason(raised.value) == "paimon_core.errors.SchemaMismatch: column x is wrong"


@pytest.mark.usefixtures("way")
def test_tasks_after_a_killed_worker_answer(spark):
    with pytest.raises(Exception, match="Python worker exited unexpectedly"):
        collect_tasks(spark, [b"x"], lambda payload: os._exit(3))
    assert collect_tasks(spark, [b"x", b"y"], lambda payload: payload) == [b"x", b"y"]


def test_workers_start_with_the_package_imported_and_left_out_of_garbage_collections(spark):
    def frozen(payload):
        import gc
        import sys

        return b"%d" % (gc.get_freeze_count() if "paimon_core.spark.writes.writer" in sys.modules else 0)

    (count,) = collect_tasks(spark, [b""], frozen)
    assert int(count) > 50_000


@pytest.mark.usefixtures("way")
def test_a_task_uses_the_processors_of_one_task(spark):
    found = collect_tasks(spark, [b"1", b"2"], lambda _: b"%d of %d" % (own_processors(), usable()))
    assert found == [b"1 of %d" % usable()] * 2
    assert own_processors() == usable(), "the driver is no task"

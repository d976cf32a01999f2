"""Steps of tasks that write files, without Spark: a task opens the table once, whatever the number of its buckets."""

from __future__ import annotations

from types import SimpleNamespace

import pyarrow as pa
from pyspark import cloudpickle

from paimon_core import open_catalog
from paimon_core.spark import message_tasks
from paimon_core.spark.reference import TableReference


class Context:
    """A Spark context that runs its tasks in this process, each with its own copy of the function, as Spark does."""

    defaultParallelism = 2

    def __init__(self):
        self.tasks = 0

    def parallelize(self, tasks, slices):
        self.tasks = slices

        def map_(work):
            return SimpleNamespace(collect=lambda: [cloudpickle.loads(cloudpickle.dumps(work))(one) for one in tasks])

        return SimpleNamespace(map=map_)


def test_a_task_opens_the_table_once_for_all_its_payloads(warehouse, monkeypatch):
    catalog = open_catalog(warehouse)
    catalog.create_database("d")
    table = catalog.create_table("d.t", pa.schema([("id", pa.int64())]))
    opened, asked, real = [], [], TableReference.open
    monkeypatch.setattr(TableReference, "open", lambda one: opened.append(one) or real(one))
    spark = Context()
    session = SimpleNamespace(sparkContext=spark)
    # Looked up when it is called: the copy of a local function would have its own lists.
    monkeypatch.setattr(message_tasks, "answered", lambda _, payload: asked.append(payload) or [], raising=False)
    payloads = [b"%d" % at for at in range(50)]

    def work(context, payload):
        from paimon_core.spark import message_tasks as module

        return module.answered(context, payload)

    assert message_tasks.collect_messages(session, table.context, payloads, work, [100] * 50) == []
    assert (len(opened), spark.tasks) == (2, 2)
    assert sorted(asked) == sorted(payloads)

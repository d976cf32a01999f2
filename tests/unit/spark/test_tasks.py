"""Tasks without Spark: a session with a Spark context gets an RDD, one of Spark Connect a DataFrame."""

from types import SimpleNamespace

import pyarrow as pa
from pyspark.errors import PySparkAttributeError

from paimon_core.spark.tasks import collect_tasks


def doubled(payload):
    return payload * 2


class Context:
    """A Spark context whose RDD runs its tasks at once."""

    defaultParallelism = 2

    def __init__(self):
        self.slices = []

    def parallelize(self, payloads, slices):
        self.slices.append(slices)
        return SimpleNamespace(map=lambda work: SimpleNamespace(collect=lambda: [work(one) for one in payloads]))


class Connect:
    """A session of Spark Connect, whose DataFrame answers in the reverse order."""

    @property
    def sparkContext(self):
        raise PySparkAttributeError(errorClass="JVM_ATTRIBUTE_NOT_SUPPORTED", messageParameters={"attr_name": "x"})

    def createDataFrame(self, rows, schema):
        def repartition(tasks, column):
            assert (tasks, column) == (len(rows), "task_number")
            return SimpleNamespace(mapInArrow=run)

        def run(function, schema):
            assert schema == "task_number int, answer binary"
            batches = [pa.record_batch([pa.array([bytes(payload)])], ["payload"]) for _, payload in reversed(rows)]
            answers = [row for batch in batches for made in function(iter([batch])) for row in made.to_pylist()]
            return SimpleNamespace(collect=lambda: answers)

        return SimpleNamespace(repartitionById=repartition)


def test_an_rdd_has_one_task_per_payload():
    context = Context()
    assert collect_tasks(SimpleNamespace(sparkContext=context), [b"b", b"", b"a"], doubled) == [b"bb", b"", b"aa"]
    assert context.slices == [3]


def test_small_payloads_share_a_task_and_are_answered_in_their_order():
    context = Context()
    payloads = [b"%d" % number for number in range(9)]
    found = collect_tasks(SimpleNamespace(sparkContext=context), payloads, doubled, range(9))
    assert found == [payload * 2 for payload in payloads]
    assert context.slices == [2]


def test_a_session_without_a_context_answers_in_the_order_of_the_payloads():
    assert collect_tasks(Connect(), [b"b", b"", b"a"], doubled) == [b"bb", b"", b"aa"]


def test_no_payload_needs_no_session():
    assert collect_tasks(None, [], doubled) == []

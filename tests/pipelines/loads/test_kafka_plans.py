"""Plans of loads from Kafka, with a cluster of plain values: where a load begins, and what it refuses."""

from __future__ import annotations

import json
import time
from types import SimpleNamespace

import pytest

from paimon_lake.checks.lag_check import compared
from paimon_lake.declarations.sources.kafka import KafkaSource
from paimon_lake.declarations.tables.checks import LagCheck
from paimon_lake.loads import lag as asked
from paimon_lake.loads import source_loads
from paimon_lake.loads.kafka import kafka_loads
from paimon_lake.loads.kafka.lag import kafka_lags
from paimon_lake.loads.kafka.range_reports import RangeReport
from paimon_lake.loads.kafka.rules import check_source, first_offsets, next_offsets
from paimon_lake.loads.write_tasks import WriteResult
from paimon_lake.overview import overview, with_lags
from paimon_lake.protocol import PartsFailed, PipelineError
from paimon_lake.sources.kafka.broker import matches, places_of
from paimon_lake.sources.kafka.position import Position, Topic, TopicPosition

AT = Position("c", {"a": TopicPosition("1", (5, 7))})
PLACES = [("a", 0), ("a", 1)]
LOW, HIGH = dict.fromkeys(PLACES, 2), dict.fromkeys(PLACES, 9)


class FakeBroker:
    """A cluster whose topics have the offsets ``ends``; all logs begin with offset 0."""

    def __init__(self, ends):
        self.ends = ends

    def cluster(self):
        return "c"

    def topics(self, wanted):
        names = [name for name in self.ends if any(name == one or matches(name, one) for one in wanted)]
        return {name: Topic(f"id of {name}", len(self.ends[name])) for name in names}

    def offsets(self, places, which):
        return {(name, at): 0 if which == "earliest" else self.ends[name][at] for name, at in places}


@pytest.fixture
def fake(quick, monkeypatch):
    """A lake whose table is loaded from a fake cluster; ``fake.batches`` are the ranges that its tasks read."""
    broker, batches, sizes = FakeBroker({"a": [10, 4]}), [], {"message": 100}

    def read(_self, _step, task, ranges):
        if ranges:
            batches.append([(one.topic, one.partition, one.start, one.end) for one in ranges])
        count = sum(one.size for one in ranges)
        size = count * sizes["message"]
        return WriteResult(rows_read=0), RangeReport(size, count, is_whole=size <= task.most_bytes or count == 1)

    monkeypatch.setattr(kafka_loads.KafkaLoads, "_read", read)
    monkeypatch.setattr(source_loads, "KafkaLoads", lambda source: kafka_loads.KafkaLoads(source, lambda _: broker))

    def declare(more="", topic="a"):
        quick.declare(
            "shop.o",
            f"""
            columns: {{id: BIGINT}}
            source: {{type: kafka, servers: "k:1", topic: "{topic}", format: json{more}}}
            """,
        )

    quick.broker, quick.batches, quick.sizes, quick.source = broker, batches, sizes, declare
    declare()
    return quick


def position(lake):
    last = lake.table("shop.o").inspect.snapshots().to_pylist()[-1]
    found = json.loads(dict(last["properties"])["pipeline.position"])
    return {name: offsets for name, (_, offsets) in found["topics"].items()}


def test_a_run_reads_what_was_there_when_it_began(fake):
    result = fake.load("shop.o")
    assert fake.batches == [[("a", 0, 0, 10), ("a", 1, 0, 4)]]
    assert position(fake) == {"a": [10, 4]}
    assert result.details["lag_messages"] == 0
    fake.broker.ends["a"] = [11, 4, 2]
    fake.load("shop.o")
    assert fake.batches[1:] == [[("a", 0, 10, 11), ("a", 2, 0, 2)]]
    assert position(fake) == {"a": [11, 4, 2]}


def test_batches_have_their_share_of_each_partition(fake):
    fake.source(", batch_rows: 7")
    assert len(fake.load("shop.o").commits) == 2
    assert fake.batches == [[("a", 0, 0, 5), ("a", 1, 0, 2)], [("a", 0, 5, 10), ("a", 1, 2, 4)]]


def test_a_batch_with_too_many_bytes_is_read_again_as_a_smaller_one(fake):
    fake.source(", batch_bytes: 8000")  # 7 messages of 1 KiB
    fake.sizes["message"] = 4000
    assert len(fake.load("shop.o").commits) == 7
    assert [sum(end - start for *_, start, end in batch) for batch in fake.batches] == [7, 2, 2, 2, 2, 2, 2, 2]


def test_a_first_load_of_the_latest_messages_records_where_it_begins(fake):
    fake.source(", starts: latest")
    assert len(fake.load("shop.o").commits) == 1
    assert (fake.batches, position(fake)) == ([], {"a": [10, 4]})
    with pytest.raises(PipelineError, match="a reload would leave all messages out"):
        fake.load("shop.o", reload=True)


def test_a_run_that_is_over_leaves_the_rest_to_the_next(fake, monkeypatch):
    fake.source(", batch_rows: 7, run_seconds: 10")
    clock = iter([0, 11])
    monkeypatch.setattr(kafka_loads, "time", SimpleNamespace(monotonic=lambda: next(clock, 11), time=time.time))
    result = fake.load("shop.o")
    assert position(fake) == {"a": [5, 2]}
    assert "source.run_seconds is over: 7 offsets are left to the next load" in result.skipped
    assert result.details["lag_messages"] == 7


def test_a_pattern_without_topics_loads_nothing(fake):
    fake.source(topic="b*")
    assert fake.load("shop.o").skipped == ("no topic matches b*",)


def test_offsets_continue_at_the_position():
    assert next_offsets(AT, PLACES, LOW, HIGH) == {("a", 0): 5, ("a", 1): 7}
    new = [*PLACES, ("b", 0)]
    assert next_offsets(AT, new, {**LOW, ("b", 0): 3}, {**HIGH, ("b", 0): 4})["b", 0] == 3


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (
            {("a", 1): 8},
            {},
            "a, partition 1: the messages from offset 7 on are not loaded, and the log begins",
        ),
        ({}, {("a", 0): 4}, "a, partition 0: the messages before offset 5 are loaded, and the log ends at offset 4"),
        ({("a", 2): 1}, {("a", 2): 9}, "a, partition 2: the messages from offset 0 on are not loaded"),
    ],
)
def test_positions_that_the_log_does_not_have_are_refused(low, high, said):
    low, high = LOW | low, HIGH | high
    with pytest.raises(PipelineError, match=f"topic {said}.*load the table with reload"):
        next_offsets(AT, list(high), low, high)


@pytest.mark.parametrize(
    ("cluster", "topics", "said"),
    [
        ("d", {"a": Topic("1", 2)}, "from the cluster c, and source.servers is the cluster d"),
        ("c", {}, "topic a was loaded and does not exist any more"),
        ("c", {"a": Topic("2", 2)}, "topic a was deleted and made again"),
        ("c", {"a": Topic("", 1)}, "topic a had 2 partitions and has 1: it was made again"),
    ],
)
def test_another_cluster_or_topic_is_refused(cluster, topics, said):
    with pytest.raises(PipelineError, match=said):
        check_source(AT, cluster, topics, ["a"])
    check_source(AT, "c", {"a": Topic("", 3)}, ["a"])
    check_source(AT, "c", {}, ["b"])  # not declared any more


def test_first_offsets():
    def source(**more):
        return KafkaSource(type="kafka", servers=("k:1",), topic=("a",), format="json", **more)

    assert first_offsets(source(), PLACES, LOW, HIGH) == LOW
    assert first_offsets(source(starts="latest"), PLACES, LOW, HIGH) == HIGH
    assert first_offsets(source(offsets={"a": {"1": 4}}), PLACES, LOW, HIGH) == {("a", 0): 2, ("a", 1): 4}
    for offsets, said in (({"1": 1}, "from 2 to 9: choose one"), ({"2": 3}, r"a\[2\], which does not exist")):
        with pytest.raises(PipelineError, match=said):
            first_offsets(source(offsets={"a": offsets}), PLACES, LOW, HIGH)


def test_patterns():
    assert matches("shop.orders", "shop.*")
    assert not matches("shopXorders", "shop.*")
    assert not matches("__consumer_offsets", "*")
    assert places_of({"b": Topic("", 2), "a": Topic("", 1)}) == [("a", 0), ("b", 0), ("b", 1)]


def test_the_lag_is_the_number_of_messages_that_are_not_loaded(fake):
    def lag():
        ((name, found),) = kafka_lags(fake.settings, ["shop.o"], time.monotonic() + 9, lambda _: fake.broker)
        assert name == "shop.o"
        return found

    fake.source("")
    assert (lag().is_behind, lag().text()) == (True, "nothing is loaded yet")
    fake.load("shop.o")
    assert (lag().is_behind, lag().details, lag().text()) == (False, {"lag_messages": 0}, "up to date")
    fake.broker.ends["a"][1] += 3
    assert (lag().is_behind, lag().details, lag().text()) == (True, {"lag_messages": 3}, "3 messages behind")
    assert compared(LagCheck(type="lag", max_messages=2), lag())[0] == 1
    assert compared(LagCheck(type="lag", max_messages=3), lag())[0] == 0
    del fake.broker.ends["a"]
    assert isinstance(lag(), PipelineError)


def test_rows_that_wait_and_are_due_make_a_table_behind(fake, monkeypatch):
    monkeypatch.setattr(asked, "kafka_lags", lambda *more: kafka_lags(*more, lambda _: fake.broker))
    fake.source("")
    fake.load("shop.o")
    assert not asked.lag(fake.settings, "shop.o").is_behind
    monkeypatch.setattr(asked, "due_now", lambda settings, spec: spec.name == "shop.o")
    found = asked.lag(fake.settings, "shop.o")
    assert (found.is_behind, found.text()) == (True, "up to date; rows that wait are due")


WIDE = """
columns: {id: BIGINT, a: INT, a_at: INT, b: INT, b_at: INT}
primary_key: id
checks: [{type: lag, max_messages: 2}]
parts:
  a: {source: {type: kafka, servers: "k:1", topic: a, format: json}, columns: a, order_by: a_at}
  b: {source: {type: kafka, servers: "k:2", topic: b, format: json}, columns: b, order_by: b_at}
"""


def test_each_part_has_a_position_and_a_lag_of_its_own(fake, monkeypatch):
    fake.declare("shop.o", WIDE)
    monkeypatch.setattr(asked, "kafka_lags", lambda *more: kafka_lags(*more, lambda _: fake.broker))
    fake.broker.ends["b"] = [5]
    assert fake.load("shop.o", part="a").details["a_lag_messages"] == 0
    assert asked.lag(fake.settings, "shop.o").text() == "part a: up to date; part b: nothing is loaded yet"
    details = fake.load("shop.o").details
    assert (details["a_position"], details["b_position"], details["b_lag_messages"]) == ("a[0]=10, a[1]=4", "b[0]=5", 0)
    fake.broker.ends["b"] = [8]
    found = asked.lag(fake.settings, "shop.o")
    assert (found.is_behind, found.details) == (True, {"a_lag_messages": 0, "b_lag_messages": 3})
    (check,) = fake.settings.table("shop.o").checks
    said = "part a: up to date; part b: 3 messages behind: at most 2 messages behind are allowed"
    assert compared(check, found) == (1, said)
    del fake.broker.ends["a"]
    found = asked.lag(fake.settings, "shop.o")
    (told,) = with_lags(fake.settings, [overview(fake.settings, "shop.o")])
    assert told.lag.endswith("; part b: 3 messages behind")
    assert found.problem == told.lag_problem == f"part a: {found.parts['a']}" != ""
    assert compared(check, found)[0] == 2
    with pytest.raises(PartsFailed, match=r"part a failed: .*topic a was loaded and does not exist any more"):
        fake.load("shop.o")
    assert asked.lag(fake.settings, "shop.o").parts["b"].details == {"lag_messages": 0}, "the part b is loaded"
    del fake.broker.ends["b"]
    assert isinstance(asked.lag(fake.settings, "shop.o"), PipelineError)

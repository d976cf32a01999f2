"""Topics and clusters whose messages may be missing: a load is refused, and says what to do."""

from __future__ import annotations

import pytest
from confluent_kafka import TopicPartition

from paimon_lake.protocol import PipelineError
from paimon_lake.sources.kafka import messages as reading
from tests.support.kafka import PASSWORD, KafkaServer


def rows(*numbers):
    return [{"id": n, "t": "a"} for n in numbers]


def remove(fed, offset, partition=0):
    """Remove the messages before an offset, as retention does."""
    place = TopicPartition(fed.topic, partition, offset)
    fed.server.admin.delete_records([place])[place].result(30)


def test_messages_that_retention_removed_are_never_skipped(fed):
    fed.send(*rows(0, 1))
    fed.load()
    fed.send(*rows(2, 3, 4))
    remove(fed, 4)
    with pytest.raises(
        PipelineError, match=r"partition 0: the messages from offset 2 on .* begins at offset 4"
    ) as error:
        fed.load()
    assert "load the table with reload" in str(error.value)
    assert fed.rows() == [(0, "a"), (1, "a")]
    fed.load(reload=True)
    assert fed.rows() == [(0, "a"), (1, "a"), (4, "a")]


def test_loaded_messages_may_be_removed(fed):
    fed.send(*rows(0, 1))
    fed.load()
    remove(fed, 2)
    assert fed.load().commits == ()
    fed.send(*rows(2))
    assert fed.load().details["rows_read"] == 1


def test_messages_that_are_removed_while_they_are_read_stop_the_load(fed, monkeypatch):
    fed.send(*rows(*range(10)))
    read = reading.RangeReader.read

    def late(self, wanted):
        remove(fed, 5)
        yield from read(self, wanted)

    with monkeypatch.context() as patched:
        patched.setattr(reading.RangeReader, "read", late)
        with pytest.raises(PipelineError, match="does not have all offsets from 0 to 9 any more"):
            fed.load()
    assert fed.load(reload=True).details["rows_read"] == 5


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_topic_that_was_made_again_is_refused(fed, count):
    fed.send(*rows(0, 1))
    fed.load()
    fed.server.delete(fed.topic)
    with pytest.raises(PipelineError, match="does not exist"):
        fed.load()
    fed.server.create(fed.topic)
    fed.send(*rows(*range(5, 5 + count)))
    with pytest.raises(PipelineError, match=r"was deleted and made again after it was loaded.*reload"):
        fed.load()
    fed.load(reload=True)
    assert fed.rows() == [(n, "a") for n in [0, 1, *range(5, 5 + count)]]


def test_a_topic_that_is_made_again_during_a_load_is_refused(fed, monkeypatch):
    fed.send(*rows(0, 1))
    read = reading.RangeReader.read

    def late(self, wanted):
        yield from read(self, wanted)
        fed.server.delete(fed.topic)
        fed.server.create(fed.topic)

    monkeypatch.setattr(reading.RangeReader, "read", late)
    with pytest.raises(PipelineError, match=r"was deleted and made again"):
        fed.load()
    assert fed.rows() == []


def test_partitions_that_are_added_begin_at_their_first_message(fed):
    fed.declare("format: json, starts: latest")
    fed.send(*rows(0, 1))
    assert fed.load().details["rows_read"] == 0
    fed.server.grow(fed.topic, 3)
    fed.send(*rows(2), partition=1)
    fed.send(*rows(3), partition=2)
    fed.load()
    assert fed.rows() == [(2, "a"), (3, "a")]
    fed.server.grow(fed.topic, 4)
    fed.send(*rows(4, 5), partition=3)
    remove(fed, 1, partition=3)
    with pytest.raises(PipelineError, match="partition 3: the messages from offset 0 on are not loaded"):
        fed.load()


def test_the_first_load_begins_at_offsets(fed):
    fed.send(*rows(0, 1, 2))
    fed.declare(f"format: json, offsets: {{{fed.topic}: {{0: 4}}}}")
    with pytest.raises(PipelineError, match=r"has 4 for .*, whose log has the offsets from 0 to 3"):
        fed.load()
    fed.declare(f"format: json, offsets: {{{fed.topic}: {{0: 2}}}}")
    fed.load()
    assert fed.rows() == [(2, "a")]


def test_a_pattern_finds_topics_that_are_added(fed):
    fed.lake.declare("shop.o", (fed.lake.folder / "tables/shop.o.yaml").read_text().replace(fed.topic, fed.topic + "*"))
    fed.send(*rows(0))
    fed.load()
    more = f"{fed.topic}-more"
    fed.server.create(more)
    fed.send(*rows(1), topic=more)
    fed.load()
    assert fed.rows() == [(0, "a"), (1, "a")]
    fed.server.delete(more)
    with pytest.raises(PipelineError, match=f"topic {more} was loaded and does not exist any more"):
        fed.load()
    fed.declare()
    fed.send(*rows(2))
    assert fed.load().details["rows_read"] == 1


def test_a_misspelt_topic_is_an_error_and_creates_none(fed):
    wrong = fed.topic + "s"
    fed.lake.declare("shop.o", (fed.lake.folder / "tables/shop.o.yaml").read_text().replace(fed.topic, wrong))
    for _ in range(2):
        with pytest.raises(PipelineError, match=f"topic {wrong}: it does not exist; did you mean {fed.topic}"):
            fed.load()


def test_another_cluster_is_refused(fed):
    fed.send(*rows(0))
    fed.load()
    other = KafkaServer("paimon-lake-test-clusterB")
    try:
        other.create(fed.topic)
        fed.server = other
        fed.declare()
        with pytest.raises(PipelineError, match=r"from the cluster .*A, and source\.servers is .*B: name the old"):
            fed.load()
    finally:
        other.close()


def test_a_user_and_a_password(fed, monkeypatch, capfd):
    monkeypatch.setenv("KAFKA_PASSWORD", PASSWORD)
    text = (fed.lake.folder / "tables/shop.o.yaml").read_text()
    client = "client: {security.protocol: SASL_PLAINTEXT, sasl.mechanism: PLAIN, sasl.username: lake, sasl.password: "
    text = text.replace(str(fed.server.port), str(fed.server.secure_port))
    fed.lake.declare("shop.o", text.replace("format: json", f'format: json, {client}"${{KAFKA_PASSWORD}}"}}'))
    fed.send(*rows(0))
    fed.load()
    assert fed.rows() == [(0, "a")]
    assert PASSWORD not in repr(fed.lake.settings.table("shop.o"))
    monkeypatch.setenv("KAFKA_PASSWORD", "canary-wrong")
    monkeypatch.setattr("paimon_lake.sources.kafka.broker.WAIT_SECONDS", 5.0)
    with pytest.raises(PipelineError, match=r"source\.client") as error:
        fed.load()
    assert "canary" not in str(error.value)
    assert "canary" not in capfd.readouterr().err


def test_servers_that_do_not_answer(fed, monkeypatch):
    monkeypatch.setattr("paimon_lake.sources.kafka.broker.WAIT_SECONDS", 2.0)
    fed.lake.declare(
        "shop.o", (fed.lake.folder / "tables/shop.o.yaml").read_text().replace(fed.server.servers, "127.0.0.1:1")
    )
    with pytest.raises(PipelineError, match=r"Kafka at 127\.0\.0\.1:1: .*refused.*check source\.servers"):
        fed.load()

"""Requests of a broker that a cluster refuses while a partition gets a new leader (resembles issue 25)."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import confluent_kafka
import confluent_kafka.admin
import pytest
from confluent_kafka import KafkaError, KafkaException

from paimon_lake.protocol import PipelineError
from paimon_lake.sources.kafka import broker as broker_module
from paimon_lake.sources.kafka.broker import KafkaBroker
from paimon_lake.sources.kafka.connection import Connection


class _Admin:
    """Answers requests for offsets with errors first, then with the offset 7."""

    def __init__(self, *codes: int) -> None:
        self.codes, self.asked = list(codes), 0

    def list_offsets(self, asked: Any, **more: Any) -> dict[Any, Future[Any]]:
        found = {}
        for place in asked:
            self.asked += 1
            future: Future[Any] = Future()
            if self.codes:
                future.set_exception(KafkaException(KafkaError(self.codes.pop(0))))
            else:
                future.set_result(SimpleNamespace(offset=7))
            found[place] = future
        return found

    def poll(self, seconds: float) -> None: ...


def _broker(admin: _Admin, monkeypatch: pytest.MonkeyPatch) -> KafkaBroker:
    monkeypatch.setattr(broker_module, "PASSING_SECONDS", 0.0)
    found = KafkaBroker.__new__(KafkaBroker)
    found._connection, found._module, found._seen = Connection(("k:9092",)), confluent_kafka, []
    found._admin = admin
    return found


def test_offsets_are_asked_again_after_an_error_that_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    admin = _Admin(KafkaError.UNKNOWN_LEADER_EPOCH, KafkaError.LEADER_NOT_AVAILABLE)
    assert _broker(admin, monkeypatch).offsets([("t", 0), ("t", 1)], "latest") == {("t", 0): 7, ("t", 1): 7}
    assert admin.asked == 4


def test_other_errors_are_raised_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    admin = _Admin(KafkaError.TOPIC_AUTHORIZATION_FAILED)
    with pytest.raises(PipelineError, match=r"Kafka at k:9092: .*: grant the user READ and DESCRIBE on the topic"):
        _broker(admin, monkeypatch).offsets([("t", 0)], "latest")
    assert admin.asked == 1


def test_an_error_that_does_not_pass_in_time_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker_module, "WAIT_SECONDS", 0.05)
    admin = _Admin(*[KafkaError.UNKNOWN_LEADER_EPOCH] * 1_000_000)
    with pytest.raises(PipelineError, match="Leader epoch is newer than broker epoch"):
        _broker(admin, monkeypatch).offsets([("t", 0)], "earliest")
    assert admin.asked > 1

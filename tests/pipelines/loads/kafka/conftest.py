"""A broker of Kafka, and lakes with a table that is loaded from its topics."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from confluent_kafka import Producer

from tests.support.kafka import KafkaServer, running_kafka
from tests.support.lakes import SmallLake

server = pytest.fixture(running_kafka, scope="package")
COLUMNS = "{id: BIGINT, t: STRING}"


@dataclass
class Fed:
    """A lake whose table ``shop.o`` is loaded from topics of a broker."""

    lake: SmallLake
    server: KafkaServer
    topic: str
    more: Mapping[str, Any] = field(default_factory=dict)

    def declare(self, source: str = "format: json", rest: str = "primary_key: id", columns: str = COLUMNS) -> None:
        self.lake.declare(
            "shop.o",
            f"""
            columns: {columns}
            {rest}
            source: {{type: kafka, servers: "{self.server.servers}", topic: {self.topic}, {source}}}
            """,
        )

    def send(self, *messages: Any, partition: int = 0, topic: str = "") -> None:
        """Send messages: (key, value) or a value; what is not bytes or None is written as JSON."""
        producer = Producer({"bootstrap.servers": self.server.servers, "log_level": 0, **self.more})
        for one in messages:
            key, value = one if isinstance(one, tuple) else (None, one)
            producer.produce(topic or self.topic, encoded(value), encoded(key), partition)
        assert producer.flush(60) == 0

    def transactions(self, *batches: tuple[bool, list[Any]], partition: int = 0) -> None:
        """Send messages in transactions; False: the transaction is aborted."""
        producer = Producer(
            {"bootstrap.servers": self.server.servers, "log_level": 0, "transactional.id": f"tx-{self.topic}"}
        )
        producer.init_transactions(60)
        for commits, values in batches:
            producer.begin_transaction()
            for value in values:
                producer.produce(self.topic, encoded(value), partition=partition)
            producer.flush(60)
            producer.commit_transaction(60) if commits else producer.abort_transaction(60)

    def load(self, **more: Any) -> Any:
        return self.lake.load("shop.o", **more)

    def rows(self) -> list[tuple[Any, ...]]:
        return self.lake.rows("shop.o")

    def rejects(self) -> list[tuple[Any, ...]]:
        columns = ["file", "line", "column", "reason", "raw"]
        found = self.lake.table("shop.o__rejects").scan(columns).to_arrow().to_pylist()
        return sorted(tuple(row.values()) for row in found)


def encoded(value: Any) -> bytes | None:
    return value if value is None or isinstance(value, bytes) else json.dumps(value).encode()


@pytest.fixture
def fed(quick: SmallLake, server: KafkaServer, request: pytest.FixtureRequest) -> Iterator[Fed]:
    yield from feeding(quick, server, request)


@pytest.fixture
def fed_by_spark(lake: SmallLake, server: KafkaServer, request: pytest.FixtureRequest) -> Iterator[Fed]:
    yield from feeding(lake, server, request)


def feeding(lake: SmallLake, server: KafkaServer, request: pytest.FixtureRequest) -> Iterator[Fed]:
    name = "".join(c if c.isalnum() else "-" for c in request.node.name)[:100]
    found = Fed(lake, server, name)
    server.create(name)
    found.declare()
    yield found

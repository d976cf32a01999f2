"""Broker: asks a Kafka cluster for its topics and their offsets.

No request creates a topic, and no request depends on a consumer group.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any, Literal, Protocol

from paimon_lake.declarations.errors import nearest
from paimon_lake.protocol import PipelineError
from paimon_lake.sources.kafka.connection import WAIT_SECONDS, Connection, kafka
from paimon_lake.sources.kafka.position import Place, Topic

Which = Literal["earliest", "latest"]
PASSING_ERRORS = (
    "FENCED_LEADER_EPOCH",
    "UNKNOWN_LEADER_EPOCH",
    "LEADER_NOT_AVAILABLE",
    "NOT_LEADER_FOR_PARTITION",
    "OFFSET_NOT_AVAILABLE",
    "REPLICA_NOT_AVAILABLE",
    "BROKER_NOT_AVAILABLE",
)
"""Errors that a cluster returns while a broker starts or a partition gets a new leader; the request is sent again."""
PASSING_SECONDS = 0.25
"""How long to wait before such a request is sent again."""


class Broker(Protocol):
    """The requests of a load to a cluster."""

    def cluster(self) -> str:
        """Return the id of the cluster."""

    def topics(self, wanted: Collection[str]) -> dict[str, Topic]:
        """Return the topics with these names or patterns; raises PipelineError for a name that no topic has."""

    def offsets(self, places: Collection[Place], which: Which) -> dict[Place, int]:
        """Return for each partition its first offset, or the offset after its last message that may be read.

        Messages of transactions that are not complete may not be read, and neither may messages after them.
        """


class KafkaBroker:
    """A cluster that is asked through the admin client."""

    def __init__(self, connection: Connection) -> None:
        self._connection, self._module = connection, kafka()
        self._seen: list[str] = []
        with connection.guarded():
            self._admin = self._module.admin.AdminClient(connection.config(self._seen))

    def cluster(self) -> str:
        """Return the id of the cluster."""
        return str(self._result(self._admin.describe_cluster(request_timeout=WAIT_SECONDS)).cluster_id)

    def topics(self, wanted: Collection[str]) -> dict[str, Topic]:
        """Return the topics with these names or patterns; raises PipelineError for a name that no topic has."""
        names, patterns = {one for one in wanted if "*" not in one}, [one for one in wanted if "*" in one]
        known: list[str] = []
        if patterns:
            with self._connection.guarded(self._seen):
                known = sorted(self._admin.list_topics(timeout=WAIT_SECONDS).topics)
            names |= {name for name in known if any(matches(name, pattern) for pattern in patterns)}
        if not names:
            return {}
        asked = self._module.TopicCollection(sorted(names))
        found = {}
        for name, future in self._admin.describe_topics(asked, request_timeout=WAIT_SECONDS).items():
            topic = self._result(future, f"topic {name}: ", lambda name=name: self._advice(name))
            partitions = sorted(one.id for one in topic.partitions)
            if partitions != list(range(len(partitions))):
                raise PipelineError(f"{self._connection.name}: topic {name} has the partitions {partitions!r:.80}")
            found[name] = Topic(str(topic.topic_id or ""), len(partitions))
        return found

    def offsets(self, places: Collection[Place], which: Which) -> dict[Place, int]:
        """Return for each partition its first offset, or the offset after its last message that may be read."""
        module = self._module
        spec = module.admin.OffsetSpec.earliest() if which == "earliest" else module.admin.OffsetSpec.latest()
        asked = {module.TopicPartition(*place): spec for place in places}
        if not asked:
            return {}

        def listed(asked: Mapping[Any, Any]) -> dict[Any, Any]:
            with self._connection.guarded(self._seen):
                found: dict[Any, Any] = self._admin.list_offsets(
                    asked, isolation_level=module.IsolationLevel.READ_COMMITTED, request_timeout=WAIT_SECONDS
                )
            return found

        return {
            (one.topic, one.partition): int(
                self._result(
                    future,
                    f"topic {one.topic}: ",
                    again=lambda one=one: listed({one: spec})[one],  # type: ignore[misc]
                ).offset
            )
            for one, future in listed(asked).items()
        }

    def _result(self, future: Any, of: str = "", advice: Any = None, again: Callable[[], Any] | None = None) -> Any:
        """Return the answer to a request; ``again`` sends the request again after one of ``PASSING_ERRORS``."""
        module = self._module
        ends_at = time.monotonic() + WAIT_SECONDS
        while True:
            try:
                return future.result(WAIT_SECONDS + 5)
            except module.KafkaException as error:
                found = error.args[0]
            if again is None or found.name() not in PASSING_ERRORS or time.monotonic() >= ends_at:
                break
            time.sleep(PASSING_SECONDS)
            future = again()
        self._admin.poll(0)  # makes the client call error_cb
        if found.code() == module.KafkaError.UNKNOWN_TOPIC_OR_PART and advice is not None:
            raise PipelineError(f"{self._connection.name}: {of}it does not exist{advice()}")
        raise self._connection.error(found, [of + text for text in self._seen[-1:]])

    def _advice(self, name: str) -> str:
        with self._connection.guarded(self._seen):
            known = sorted(self._admin.list_topics(timeout=WAIT_SECONDS).topics)
        return nearest(name, known) or ": create it, or correct source.topic"


def matches(name: str, pattern: str) -> bool:
    """Whether the name of a topic matches a pattern; names that begin with ``__`` match no pattern."""
    form = ".*".join(re.escape(part) for part in pattern.split("*"))
    return not name.startswith("__") and re.fullmatch(form, name) is not None


def places_of(topics: Mapping[str, Topic]) -> list[Place]:
    """Return the partitions of topics, in order."""
    return [(name, number) for name, topic in sorted(topics.items()) for number in range(topic.partitions)]

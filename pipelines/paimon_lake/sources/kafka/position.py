"""Position: the next offset of each partition to load, and the cluster and topics to which the offsets belong.

A property of the load's snapshot is the only record of the position. An offset has a meaning only in the cluster and in
the topic that the position names: a topic that was deleted and re-created has another id.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from paimon_lake.protocol import PipelineError, some

Place = tuple[str, int]
"""A topic and the number of one of its partitions."""


def place_text(place: Place) -> str:
    """Return a partition as text, such as ``orders[3]``."""
    return f"{place[0]}[{place[1]}]"


def offsets_text(offsets: Mapping[Place, int]) -> str:
    """Return the offsets of partitions as text, ``orders[0]=7, orders[1]=9``; of many partitions, only some."""
    return some([f"{place_text(place)}={offset}" for place, offset in offsets.items()])


@dataclass(frozen=True)
class Topic:
    """A topic as a cluster describes it."""

    id: str
    """A text that another topic of the same name does not have; "" where the brokers have no ids."""
    partitions: int
    """The number of partitions; their numbers begin with 0."""


@dataclass(frozen=True)
class TopicPosition:
    """The position in one topic."""

    id: str
    offsets: tuple[int, ...]
    """For each partition the first offset that is not loaded."""


@dataclass(frozen=True)
class Position:
    """The offsets of all partitions: all messages before these offsets are loaded, and no other messages."""

    cluster: str
    topics: Mapping[str, TopicPosition]

    def places(self) -> Iterator[tuple[Place, int]]:
        """Yield each partition with the first offset that is not loaded."""
        for name, topic in self.topics.items():
            for partition, offset in enumerate(topic.offsets):
                yield (name, partition), offset

    def with_offsets(self, cluster: str, topics: Mapping[str, Topic], offsets: Mapping[Place, int]) -> Position:
        """Return the position with the offsets of all partitions of ``topics``; other topics keep their offsets."""
        moved = {
            name: TopicPosition(topic.id, tuple(offsets[name, number] for number in range(topic.partitions)))
            for name, topic in topics.items()
        }
        return Position(cluster, {**self.topics, **moved})

    def to_json(self) -> dict[str, Any]:
        """Return the position for the ledger."""
        topics = {name: [topic.id, list(topic.offsets)] for name, topic in sorted(self.topics.items())}
        return {"cluster": self.cluster, "topics": topics}

    @staticmethod
    def from_json(found: Any) -> Position:
        """Return the position that ``to_json`` wrote; raises PipelineError for any other value."""
        try:
            if set(found) != {"cluster", "topics"} or type(found["cluster"]) is not str:
                raise ValueError("its keys differ")
            topics = {}
            for name, (topic_id, offsets) in found["topics"].items():
                if type(topic_id) is not str or any(type(one) is not int or one < 0 for one in offsets):
                    raise ValueError("its topics differ")
                topics[name] = TopicPosition(topic_id, tuple(offsets))
        except (AttributeError, TypeError, ValueError, KeyError):
            raise PipelineError(
                f"the ledger has the position {found!r:.80}, which a load of Kafka did not write: load with reload"
            ) from None
        return Position(found["cluster"], topics)

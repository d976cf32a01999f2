"""Rules: the conditions that are checked before messages of Kafka are loaded. Each error says what the user can do.

Without ``reload``, no message is left out and none is loaded again: if messages may be missing, the load is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from paimon_lake.declarations.sources.kafka import KafkaSource
from paimon_lake.protocol import PipelineError
from paimon_lake.sources.kafka.broker import matches
from paimon_lake.sources.kafka.messages import RELOAD
from paimon_lake.sources.kafka.position import Place, Position, Topic, place_text


def check_source(position: Position, cluster: str, topics: Mapping[str, Topic], wanted: Collection[str]) -> None:
    """Refuse a cluster other than the cluster of ``position``, and refuse topics that were deleted, even if they were
    created again.
    """
    if cluster != position.cluster:
        raise PipelineError(
            f"messages were loaded from the cluster {position.cluster}, and source.servers is the cluster {cluster}: "
            f"name the old cluster, or {RELOAD}"
        )
    for name, loaded in position.topics.items():
        topic = topics.get(name)
        if topic is None:
            if any(name == one or ("*" in one and matches(name, one)) for one in wanted):
                raise PipelineError(
                    f"topic {name} was loaded and does not exist any more, so messages may be missing: name the topics "
                    f"that are left in source.topic, or {RELOAD}"
                )
            continue
        if loaded.id and topic.id and loaded.id != topic.id:
            raise PipelineError(
                f"topic {name} was deleted and made again after it was loaded, so messages may be missing: {RELOAD}"
            )
        if topic.partitions < len(loaded.offsets):
            raise PipelineError(
                f"topic {name} had {len(loaded.offsets)} partitions and has {topic.partitions}: it was made again: "
                f"{RELOAD}"
            )


def next_offsets(
    position: Position, places: Collection[Place], earliest: Mapping[Place, int], latest: Mapping[Place, int]
) -> dict[Place, int]:
    """Return, for each partition, the first offset whose message is not loaded.

    A topic that is new to the table begins at its earliest message. A new partition also begins at its first message,
    which must still exist. Raises PipelineError for a partition that lost messages which are not loaded, and for a log
    that ends before the position.
    """
    loaded = dict(position.places())
    offsets = {}
    for place in places:
        known = place[0] in position.topics
        offset = loaded.get(place, 0 if known else earliest[place])
        if offset < earliest[place]:
            raise PipelineError(
                f"topic {place[0]}, partition {place[1]}: the messages from offset {offset} on are not loaded, and the "
                f"log begins at offset {earliest[place]}: its retention removed {earliest[place] - offset:,} offsets: "
                f"load more often or raise retention.ms of the topic, and {RELOAD}"
            )
        if offset > latest[place]:
            raise PipelineError(
                f"topic {place[0]}, partition {place[1]}: the messages before offset {offset} are loaded, and the log "
                f"ends at offset {latest[place]}: the topic was made again, or lost messages: {RELOAD}"
            )
        offsets[place] = offset
    return offsets


def first_offsets(
    source: KafkaSource, places: Collection[Place], earliest: Mapping[Place, int], latest: Mapping[Place, int]
) -> dict[Place, int]:
    """Return the offsets at which the first load begins; raises PipelineError for declared offsets that do not
    exist.
    """
    offsets = dict(earliest if source.starts == "earliest" else latest)
    for topic, partitions in source.offsets.items():
        for partition, offset in partitions.items():
            place = (topic, int(partition))
            if place not in offsets:
                raise PipelineError(f"source.offsets names {place_text(place)}, which does not exist")
            if not earliest[place] <= offset <= latest[place]:
                raise PipelineError(
                    f"source.offsets has {offset} for {place_text(place)}, whose log has the offsets from "
                    f"{earliest[place]} to {latest[place]}: choose one of them"
                )
            offsets[place] = offset
    return {place: offsets[place] for place in places}

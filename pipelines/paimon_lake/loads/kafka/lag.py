"""Lag: how many messages the tables that are loaded from topics have not loaded yet, found without reading messages."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import cast

from paimon_core.errors import PaimonError
from paimon_lake.declarations import Settings
from paimon_lake.declarations.part_spec import loaded_spec
from paimon_lake.declarations.sources.kafka import KafkaSource
from paimon_lake.loads.kafka.kafka_loads import connection_of
from paimon_lake.loads.kafka.rules import check_source, next_offsets
from paimon_lake.loads.ledger.recorded_position import recorded_position
from paimon_lake.protocol import PipelineError
from paimon_lake.sources.kafka.broker import Broker, KafkaBroker, places_of
from paimon_lake.sources.kafka.connection import Connection
from paimon_lake.sources.kafka.position import Position, offsets_text
from paimon_lake.sources.lag import Answer, Lag


def kafka_lags(
    settings: Settings, names: Sequence[str], deadline: float, opened: Callable[[Connection], Broker] = KafkaBroker
) -> Iterator[Answer]:
    """Yield the lag of each table, or part of a table, or why it is not known.

    ``names`` are load names; all of them have the same brokers and client settings.
    ``deadline`` is a monotonic time, after which no further table is asked.
    """
    broker: Broker | None = None
    for name in names:
        source = cast(KafkaSource, loaded_spec(settings.tables, name).source)
        try:
            if time.monotonic() >= deadline:
                raise PipelineError(f"{name}: the lag is not known: other tables took too long")
            broker = broker or opened(connection_of(source, str(settings.folder)))
            yield name, _lag(settings, name, source, broker)
        except (PipelineError, PaimonError) as error:  # the sources of the other tables are still asked
            yield name, error


def _lag(settings: Settings, name: str, source: KafkaSource, broker: Broker) -> Lag:
    """Return the lag of one table; raises PipelineError when a load of the table would be refused."""
    entry = recorded_position(settings, name)
    if entry is None:
        return Lag("", True)
    before, topics = Position.from_json(entry), broker.topics(source.topic)
    check_source(before, broker.cluster(), topics, source.topic)
    places = places_of(topics)
    latest = broker.offsets(places, "latest")
    offsets = next_offsets(before, places, broker.offsets(places, "earliest"), latest)
    messages = sum(latest[place] - offset for place, offset in offsets.items())
    return Lag(offsets_text(offsets), messages > 0, lag_messages=messages)

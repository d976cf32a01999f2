"""Messages: read the messages of ranges of offsets in a task, a few megabytes at once.

A reader assigns itself to a partition; it joins no group and commits no offset. Offsets without a message (compacted,
or markers and aborted messages of transactions) are no loss: the broker passes over them only if its log still has the
offset at which it starts. An offset that the log does not have any more is an error of the client, and never skipped.

Memory: the messages of one block of ``BLOCK_BYTES``, the messages of one call of the client (about as many bytes,
estimated by the size of earlier messages), and at most ``_QUEUE_KILOBYTES`` that the client has fetched.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from paimon_lake.protocol import PipelineError
from paimon_lake.sources.kafka.connection import Connection, kafka
from paimon_lake.sources.kafka.position import place_text
from paimon_lake.sources.kafka.ranges import OffsetRange

BLOCK_BYTES = 4 << 20
STALL_SECONDS = 60.0
"""The longest time for which a broker may deliver nothing."""
RELOAD = "load the table with reload, which begins as the first load does"
_QUEUE_KILOBYTES = 16 << 10
_FETCH_BYTES = 4 << 20
_FIRST_MESSAGES, _MOST_MESSAGES = 200, 20_000
_MESSAGE_BYTES = 100
"""The memory that a message takes in addition to its value, so that the memory of a block of tombstones is bounded
too.
"""
_POLL_SECONDS = 0.1
_HARMLESS = frozenset({"_TRANSPORT", "_ALL_BROKERS_DOWN", "_RESOLVE", "_TIMED_OUT", "GROUP_AUTHORIZATION_FAILED"})
"""Errors after which the client tries again, and errors of the consumer group, which is not used."""


@dataclass(frozen=True)
class Messages:
    """Consecutive messages of a partition; ``keys`` is empty when keys are not requested."""

    offsets: np.ndarray
    values: list[bytes | None]
    keys: list[bytes | None]
    newest: int
    """The timestamp of the last message in epoch milliseconds; -1 when this message has none."""
    size: int
    """The size of the values in bytes."""


@contextlib.contextmanager
def reader(connection: Connection, *, with_keys: bool) -> Iterator[RangeReader]:
    """Open a consumer, yield a reader of ranges that uses it, and close the consumer at the end."""
    module, seen = kafka(), list[str]()
    group = {} if "group.id" in connection.settings else {"group_id": "paimon-lake"}
    with connection.guarded():
        consumer = module.Consumer(
            connection.config(
                seen,
                **group,
                enable_auto_commit=False,
                enable_auto_offset_store=False,
                enable_partition_eof=True,
                isolation_level="read_committed",
                auto_offset_reset="error",
                fetch_wait_max_ms=50,
                fetch_message_max_bytes=_FETCH_BYTES,
                queued_max_messages_kbytes=_QUEUE_KILOBYTES,
            )
        )
    try:
        yield RangeReader(connection, consumer, seen, with_keys)
    finally:
        consumer.close()


@dataclass
class RangeReader:
    """Reads the ranges one after the other."""

    connection: Connection
    consumer: Any
    seen: list[str]
    with_keys: bool

    def read(self, wanted: OffsetRange) -> Iterator[Messages]:
        """Yield the messages of a range, in the order of their offsets.

        Raises PipelineError when the log lost offsets of the range, and when the broker delivers nothing for
        ``STALL_SECONDS``.
        """
        module = kafka()
        with self.connection.guarded(self.seen):
            self.consumer.assign([module.TopicPartition(wanted.topic, wanted.partition, wanted.start)])
        at, size, held, block = wanted.start, 0, 0, list[Any]()
        last, most = time.monotonic(), _FIRST_MESSAGES
        while at < wanted.end:
            with self.connection.guarded(self.seen):
                found = self.consumer.consume(min(most, wanted.end - at), _POLL_SECONDS)
            messages = [one for one in found if one.error() is None]
            ends = [self._checked(one.error(), wanted, one) for one in found if one.error() is not None]
            if messages:
                last = time.monotonic()
                at = messages[-1].offset() + 1
                if at > wanted.end:
                    messages = [one for one in messages if one.offset() < wanted.end]
                block += messages
                seen = sum(map(len, messages))
                most = min(_MOST_MESSAGES, 1 + BLOCK_BYTES * len(messages) // (1 + seen))
                size += seen
                held = size + len(block) * _MESSAGE_BYTES
            at = max([at, *ends])
            if held >= BLOCK_BYTES or (block and at >= wanted.end):
                yield self._block(block, size)
                block, size, held = [], 0, 0
                last = time.monotonic()  # the time for writing the block does not count as a stall
            if time.monotonic() - last > STALL_SECONDS:
                raise PipelineError(
                    f"{self.connection.name}: {place_text(wanted.place)} delivered nothing after offset {at - 1} for "
                    f"{STALL_SECONDS:g} s, of offsets up to {wanted.end - 1}{self._reason()}: repeat the load when the "
                    "broker works"
                )

    def _checked(self, error: Any, wanted: OffsetRange, message: Any) -> int:
        """Return the end offset when the partition has ended, and 0 for a harmless error; raise any other error."""
        module = kafka()
        if error.code() == module.KafkaError._PARTITION_EOF:
            return int(message.offset())
        if error.name() in _HARMLESS and not error.fatal():
            return 0
        if error.code() in (module.KafkaError._AUTO_OFFSET_RESET, module.KafkaError.OFFSET_OUT_OF_RANGE):
            raise PipelineError(
                f"{self.connection.name}: {place_text(wanted.place)} does not have all offsets from {wanted.start} to "
                f"{wanted.end - 1} any more: its retention removed messages while they were read, or it was made "
                f"again: repeat the load; if it is refused, {RELOAD}"
            )
        raise self.connection.error(error, self.seen)

    def _reason(self) -> str:
        return f" ({self.seen[-1]})" if self.seen else ""

    def _block(self, messages: Sequence[Any], size: int) -> Messages:
        kind, newest = messages[-1].timestamp()
        return Messages(
            np.array([one.offset() for one in messages], np.int64),
            [one.value() for one in messages],
            [one.key() for one in messages] if self.with_keys else [],
            newest if kind else -1,
            size,
        )

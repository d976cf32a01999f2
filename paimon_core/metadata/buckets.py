"""Values by bucket: entries, splits or messages, grouped by their (partition, bucket)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar


class InBucket(Protocol):
    """What belongs to one bucket."""

    @property
    def partition(self) -> bytes:
        """A serialized BinaryRow of the partition columns."""

    @property
    def bucket(self) -> int:
        """The number of the bucket."""


T = TypeVar("T", bound=InBucket)


def by_bucket(values: Iterable[T]) -> dict[tuple[bytes, int], list[T]]:
    """Return the values of each (partition, bucket), in order of first appearance."""
    buckets: dict[tuple[bytes, int], list[T]] = {}
    for value in values:
        buckets.setdefault((value.partition, value.bucket), []).append(value)
    return buckets

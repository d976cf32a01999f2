"""Values by bucket: entries, splits or messages, grouped by their (partition, bucket)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar


class InBucket(Protocol):
    """A value that belongs to one bucket."""

    @property
    def partition(self) -> bytes:
        """A serialized BinaryRow of the partition columns."""

    @property
    def bucket(self) -> int:
        """The number of the bucket."""


T = TypeVar("T", bound=InBucket)


def by_bucket(values: Iterable[T]) -> dict[tuple[bytes, int], list[T]]:
    """Return a dict from (partition, bucket) to its values; keys and values keep the order of ``values``."""
    buckets: dict[tuple[bytes, int], list[T]] = {}
    for value in values:
        buckets.setdefault((value.partition, value.bucket), []).append(value)
    return buckets

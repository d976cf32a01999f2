"""Bucket number: how many buckets a partition of a table with fixed buckets should have, from the size of its data.

The rule (docs/how-to/choose-buckets.md): one bucket for each GiB of encoded data, because a bucket is read, merged and
rewritten as a whole. A smaller table has as many buckets as processors, so that these work in parallel, as long as each
bucket has ``LEAST_BYTES``, which is two files of the default target size: smaller buckets cost more files than they
save time.
"""

from __future__ import annotations

from dataclasses import dataclass

BUCKET_BYTES = 1 << 30
"""The largest bucket that Paimon recommends."""
LEAST_BYTES = 256 << 20
"""The least bytes of a bucket that is there only for a processor; Paimon recommends 200 MB or more."""
_UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


@dataclass(frozen=True, slots=True)
class BucketNumber:
    """A proposed number of buckets."""

    buckets: int
    reason: str
    """Why, as the end of a sentence."""

    def sentence(self) -> str:
        """Return ``buckets: 4, because ...``."""
        return f"buckets: {self.buckets}, because {self.reason}"


def bucket_number(encoded_bytes: int, processors: int) -> BucketNumber:
    """Return the number of buckets for a partition with ``encoded_bytes`` in data files, read by ``processors``."""
    by_size = max(1, -(-encoded_bytes // BUCKET_BYTES))
    by_processors = min(processors, encoded_bytes // LEAST_BYTES)
    size = size_of(encoded_bytes)
    if by_processors > by_size:
        each = f"each of {processors} processors" if by_processors == processors else "processors"
        reason = f"{size} of data give {each} a bucket of at least {size_of(LEAST_BYTES)}"
        return BucketNumber(by_processors, reason)
    if by_size == 1 and encoded_bytes >= 2 * LEAST_BYTES:
        return BucketNumber(1, f"{size} of data are one bucket of at most {size_of(BUCKET_BYTES)}")
    if by_size == 1:
        return BucketNumber(1, f"{size} of data are too little for two buckets of {size_of(LEAST_BYTES)}")
    return BucketNumber(by_size, f"{size} of data are {by_size} buckets of at most {size_of(BUCKET_BYTES)}")


def size_of(size_bytes: int) -> str:
    """Return a size such as ``1.5 GiB``."""
    for unit, name in _UNITS:
        if size_bytes >= unit:
            return f"{size_bytes / unit:.1f}".removesuffix(".0") + f" {name}"
    return f"{size_bytes} B"

"""The number of buckets follows from the bytes of data and the processors."""

from __future__ import annotations

import pytest

from paimon_core.options.bucket_number import bucket_number

MIB, GIB = 1 << 20, 1 << 30


@pytest.mark.parametrize(
    ("size", "processors", "buckets", "reason"),
    [
        (0, 8, 1, "0 B of data are too little for two buckets of 256 MiB"),
        (511 * MIB, 8, 1, "511 MiB of data are too little for two buckets of 256 MiB"),
        (512 * MIB, 8, 2, "512 MiB of data give processors a bucket of at least 256 MiB"),
        (800 * MIB, 2, 2, "800 MiB of data give each of 2 processors a bucket of at least 256 MiB"),
        (800 * MIB, 1, 1, "800 MiB of data are one bucket of at most 1 GiB"),
        (GIB + 1, 1, 2, "1 GiB of data are 2 buckets of at most 1 GiB"),
        (9 * GIB, 4, 9, "9 GiB of data are 9 buckets of at most 1 GiB"),
        (3 * GIB, 16, 12, "3 GiB of data give processors a bucket of at least 256 MiB"),
    ],
)
def test_the_number_and_its_reason(size: int, processors: int, buckets: int, reason: str) -> None:
    found = bucket_number(size, processors)
    assert found.sentence() == f"buckets: {buckets}, because {reason}"


@pytest.mark.parametrize("processors", [1, 3, 64])
def test_more_data_never_have_fewer_buckets(processors: int) -> None:
    numbers = [bucket_number(size << 24, processors).buckets for size in range(0, 5000, 7)]
    assert numbers == sorted(numbers)

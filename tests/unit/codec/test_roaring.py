from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_core.codec import roaring

ROWS = 200_000
RANGES = st.lists(st.tuples(st.integers(0, ROWS - 1), st.integers(1, 9000), st.integers(1, 3)), max_size=6)


def positions(ranges):
    return np.unique(np.concatenate([np.zeros(0, int), *(np.arange(a, min(a + n * s, ROWS), s) for a, n, s in ranges)]))


@given(st.lists(RANGES, max_size=4))
def test_bitmaps_one_after_the_other_decode(groups):
    sets = [positions(g) for g in groups]
    starts = np.concatenate(([0], np.cumsum([len(s) for s in sets]))).astype(int)
    data, offsets = roaring.encode_groups(np.concatenate([np.zeros(0, int), *sets]), starts)
    for wanted, a, b in zip(sets, offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        assert data[a:b] == roaring.encode(wanted)
        mask, end = roaring.decode(memoryview(data), a, ROWS)
        assert (np.flatnonzero(mask).tolist(), end) == (wanted.tolist(), b)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ("39300000", "begins with"),
        ("3a300000ffffffff", "containers"),
        ("3a30000001000000 0000 0200 10000000 0100", "exceed"),
        ("3a30000001000000 0000 0100 10000000 0200 0200", "not strictly increasing"),
        ("3a30000001000000 0000 0000 10000000 0900", "row 9 of 9"),
        ("3a30000002000000 0000 0000 0000 0000 18000000 1a000000 0000 0000", "keys not strictly increasing"),
        ("3b300000 01 0000 0500 0100 0000 0700", "the runs of a container"),
    ],
)
def test_bytes_that_are_no_bitmap_are_refused(data, why):
    with pytest.raises(ValueError, match=why):
        roaring.decode(memoryview(bytes.fromhex(data)), 0, 9)


def test_a_bitmap_is_not_unpacked_beyond_the_rows_of_its_file():
    data = memoryview(roaring.encode(np.arange(1 << 24)))
    assert len(data) < 1 << 16
    tracemalloc.start()
    try:
        for row_count, most in ((1000, None), (1 << 24, 1000)):
            with pytest.raises(ValueError, match=f"a bitmap has {1 << 24} rows, the limit is 1000"):
                roaring.positions(data, 0, row_count, most)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()

"""Deletion vectors: a record gives back exactly the set of positions, and damage never gives another set."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from paimon_core.errors import CorruptTable
from paimon_core.table_indexes.vector_bitmap import decode_vector, encode_vector

# Values, runs and dense ranges: each kind of container.
RUNS = st.tuples(st.integers(0, 300_000), st.integers(1, 70_000), st.integers(1, 3)).map(
    lambda run: set(range(run[0], run[0] + run[1], run[2]))
)
SETS = st.one_of(
    st.sets(st.integers(0, 2**31 - 1), max_size=50), st.lists(RUNS, max_size=3).map(lambda s: set().union(*s))
)


def encoded(positions, wide):
    return encode_vector(np.array(sorted(positions), np.int64), wide=wide)


@given(SETS, st.booleans())
def test_a_record_holds_its_set(positions, wide):
    found, is_wide = decode_vector(encoded(positions, wide), "index-1")
    assert (set(found.tolist()), len(found), is_wide) == (positions, len(positions), wide)


@given(st.sets(st.integers(0, 2**34), max_size=20))
def test_a_wide_record_holds_positions_of_any_size(positions):
    assert set(decode_vector(encoded(positions, True), "index-1")[0].tolist()) == positions


@given(SETS.filter(lambda s: len(s) < 1000), st.booleans(), st.data())
def test_a_flipped_bit_is_found(positions, wide, data):
    record = bytearray(encoded(positions, wide))
    at = data.draw(st.integers(0, 8 * len(record) - 1))
    record[at // 8] ^= 1 << at % 8
    try:
        decode_vector(bytes(record), "index-1")
    except CorruptTable:
        return
    raise AssertionError(f"bit {at} was flipped and not found")

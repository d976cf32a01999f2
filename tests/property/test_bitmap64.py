"""64-bit bitmaps in Java's format: a round trip changes nothing, and damaged bytes give an error or a bitmap."""

from __future__ import annotations

import pyroaring
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_core.lsm.aggregates.bitmaps import sketches
from paimon_core.lsm.aggregates.bitmaps.bitmap64 import from_portable, to_portable
from paimon_core.lsm.aggregates.bitmaps.bitmap64_tree import read_tree, write_tree
from tests.support.examples import examples

VALUES = st.one_of(
    st.integers(0, 2**64 - 1),
    st.integers(0, 300).map(lambda n: n << 16),
    st.integers(0, 300).map(lambda n: (n % 256 << 56) + n),
)
RUNS = st.tuples(st.integers(0, 2**40), st.integers(1, 9000), st.integers(1, 30)).map(
    lambda t: range(t[0], t[0] + t[1], t[2])
)
BITMAPS = st.tuples(st.lists(VALUES, max_size=60), st.lists(RUNS, max_size=3)).map(
    lambda parts: pyroaring.BitMap64([*parts[0], *(v for run in parts[1] for v in run)])
)
FEW = settings(max_examples=examples(80), deadline=None)


def written(bitmap):
    bitmap.run_optimize()
    return write_tree(from_portable(bitmap.serialize()))


def read(data):
    return pyroaring.BitMap64.deserialize(to_portable(read_tree(data)))


@FEW
@given(BITMAPS)
def test_a_bitmap_comes_back(bitmap):
    assert read(written(bitmap)) == bitmap
    assert to_portable(read_tree(written(bitmap))) == bitmap.serialize()


@FEW
@given(st.lists(BITMAPS, min_size=2, max_size=4))
def test_a_union_holds_the_values_of_all(bitmaps):
    union = sketches._bitmap64(pyroaring, [written(b) for b in bitmaps])
    assert read(union) == pyroaring.BitMap64.union(*bitmaps)


@FEW
@given(BITMAPS, st.data())
def test_damage_is_an_error_or_a_bitmap(bitmap, data):
    harmed = bytearray(written(bitmap))
    for _ in range(3):
        harmed[data.draw(st.integers(0, len(harmed) - 1))] = data.draw(st.integers(0, 255))
    try:
        read(bytes(harmed[: data.draw(st.integers(0, len(harmed)))]))
    except sketches._REFUSALS:
        return

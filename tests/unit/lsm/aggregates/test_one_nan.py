"""A computed NaN has the bits of the canonical one, whichever rows are merged first; a single value keeps its bits."""

import itertools

import numpy as np
import pyarrow as pa
import pytest

from paimon_core.lsm.aggregates.floats import FloatProduct, FloatSum
from paimon_core.lsm.key_groups import group

NAN, NEGATIVE = 0x7FF8000000000000, 0xFFF8000000000000
ODD = 0x7FF8000000000123
"""A NaN with a payload."""
INFINITE, MINUS_INFINITE, ONE = 0x7FF0000000000000, 0xFFF0000000000000, 0x3FF0000000000000
FUNCTIONS = [FloatSum(), FloatProduct()]


def combined(function, bits, retracts=None):
    """Return the bits of the result for rows of one key; None for null."""
    column = pa.array(np.array([0 if b is None else b for b in bits], np.uint64).view(np.float64))
    column = pa.Array.from_buffers(
        column.type, len(bits), [pa.array([b is not None for b in bits]).buffers()[1], column.buffers()[1]]
    )
    back = None if retracts is None else np.array(retracts)
    (found,) = function(pa.chunked_array([column]), group(np.zeros(len(bits), np.int64), None), back).to_pylist()
    return None if found is None else int(np.float64(found).view(np.uint64))


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("count", [2, 3, 4, 20])
def test_every_order_gives_the_canonical_nan(function, count):
    every = itertools.product([NAN, NEGATIVE, ODD, INFINITE, ONE, None], repeat=count)
    for bits in itertools.islice(every, 0, 9000, 7):
        values = [b for b in bits if b is not None]
        found = combined(function, bits)
        if len(values) > 1 and {NAN, NEGATIVE, ODD} & set(values):
            assert found == NAN, [b and hex(b) for b in bits]
        elif len(values) == 1:
            assert found == values[0]


def test_a_nan_of_infinities_is_the_canonical_one():
    assert combined(FloatSum(), [INFINITE, MINUS_INFINITE]) == NAN
    assert combined(FloatProduct(), [INFINITE, 0]) == NAN


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("bits", list(itertools.permutations([NEGATIVE, ODD, MINUS_INFINITE, None])))
def test_merging_in_parts_gives_the_same_bits(function, bits):
    whole = combined(function, bits)
    for cut in range(1, len(bits)):
        parts = [combined(function, bits[:cut]), combined(function, bits[cut:])]
        assert combined(function, parts) == whole


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("retracts", [(False, True), (True, False), (True, True)])
def test_a_retract_gives_the_canonical_nan(function, retracts):
    found = combined(function, [NEGATIVE, ODD], retracts)
    is_ignored = isinstance(function, FloatProduct) and retracts[0]  # a product without a value ignores a retract
    assert found == (NAN if not is_ignored else ODD if not retracts[1] else None)


def test_floats_of_32_bits():
    values = np.array([0xFFC00000, 0x7FC00123], np.uint32).view(np.float32)
    for function in FUNCTIONS:
        found = function(pa.chunked_array([pa.array(values)]), group(np.zeros(2, np.int64), None), None)
        assert found.chunk(0).buffers()[1].to_pybytes()[:4] == np.float32(np.nan).tobytes()

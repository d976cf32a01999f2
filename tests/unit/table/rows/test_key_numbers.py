"""Key numbers: equal keys have one number, in each form of a key; nulls and unknown keys have none."""

import datetime

import pyarrow as pa
import pytest

from paimon_core.table.rows.key_numbers import KeyNumbers, comparable
from paimon_core.types import from_arrow

DAY = datetime.date(2026, 5, 14)
CASES = {
    "whole": ([pa.int32()], [(3,), (None,), (-1,), (3,)], [(3,), (-1,), (None,), (2,), (2**31 - 1,)]),
    "dates": ([pa.date32()], [(DAY,), (None,)], [(DAY,), (None,), (DAY + datetime.timedelta(1),)]),
    "texts": ([pa.string()], [("b",), ("",), (None,), ("b",)], [("",), ("b",), (None,), ("a",), ("b" * 99,)]),
    "floats": ([pa.float64()], [(0.0,), (float("nan"),)], [(-0.0,), (float("nan"),), (1.0,)]),
    "two": ([pa.int64(), pa.string()], [(1, "a"), (1, None), (2, "b")], [(2, "b"), (1, "a"), (1, "b"), (1, None)]),
    "empty": ([pa.int64()], [], [(1,), (None,)]),
}
EXPECTED = {"whole": "ab...", "dates": "a..", "texts": "ba...", "floats": "ab.", "two": "ba..", "empty": ".."}


def columns(kinds, rows):
    return [comparable(pa.chunked_array([pa.array([r[at] for r in rows], k)])) for at, k in enumerate(kinds)]


@pytest.mark.parametrize("case", CASES)
def test_keys_are_found(case):
    kinds, known, wanted = CASES[case]
    keys = KeyNumbers.of(columns(kinds, known), [from_arrow(k) for k in kinds])
    own = keys.find(columns(kinds, known)).tolist()
    found = keys.find(columns(kinds, wanted)).tolist()
    names = {number: "ab"[at] for at, number in enumerate(dict.fromkeys(n for n in own if n >= 0))}
    assert "".join(names.get(n, ".") for n in found) == EXPECTED[case]

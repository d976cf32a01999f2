"""Keys of space-filling curves: as Java computes them, and as a plain model with one loop per bit does."""

import datetime as dt
import itertools

import hypothesis.strategies as st
import pyarrow as pa
import pytest
from hypothesis import given

from paimon_core.compact.space_filling_curves import hilbert, z_order
from paimon_core.types import parse_type

EPOCH = dt.datetime(1970, 1, 1)
TYPES = {
    "i": "INT", "s": "VARCHAR(100)", "d": "DOUBLE", "b": "BOOLEAN", "t": "TINYINT",
    "ts": "TIMESTAMP(6)", "dt": "DATE", "f": "FLOAT", "l": "BIGINT", "n": "DECIMAL(5, 2)",
}  # fmt: skip
VALUES = {
    "i": [7, -7, None, 0],
    "s": ["abc", "a longer text", None, ""],
    "d": [1.5, -2.25, None, float("nan")],
    "b": [True, False, None, True],
    "t": [-3, 5, None, 0],
    "ts": [
        EPOCH + dt.timedelta(microseconds=-1500001), EPOCH + dt.timedelta(microseconds=1700000000123456), None, EPOCH
    ],
    "dt": [dt.date(1970, 1, 1) + dt.timedelta(19000), dt.date(1969, 12, 31), None, dt.date(1970, 1, 1)],
    "f": [2.5, -0.1, None, float("nan")],
    "l": [1 << 40, -5, None, -(1 << 63)],
}  # fmt: skip
JAVA = {  # by org.apache.paimon.sort of Paimon 1.4.2; texts of 12 bytes where a text comes first
    "i,s": (
        [
            "9401140414050000000000000000002a",
            "3eabaeaabefabeffbefebebfbebbbf86",
            "00000000000000000000000000000000",
            "80000000000000000000000000000000",
        ],
        [
            "14013c041430",
            "2bfefbffeb0feb00eb014140ebec40cd",
            "2aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            "0",
        ],
    ),
    "d,b,t": (
        [
            "c6db6fb6da4924924924924936db6db6d249249249249241",
            "224924924904924924924924800000000100000000000041",
            "000000000000000000000000000000000000000000000000",
            "f24926924800000000000000924924924000000000000000",
        ],
        [
            "e249249256db6db6db6db6db6db6db6db6db6db6d8924aa",
            "1e249249248edb6db6db6db6db6db6db6db6db6db6db6dc3",
            "16db6db6db6db6db6db6db6db6db6db6db6db6db6db6db6d",
            "1124924924edb6db6db6db6db6db6db6db6db6db6db6db6d",
        ],
    ),
    "ts,dt,f,l": (
        [
            "7a88888888888a888888888988888888a88888888888a8888c88c0c000c44088",
            "87555555575557755775577dd775d7fdff57ffffdff75d7f5df7d5775dffd4ff",
            "0000000000000000000000000000000000000000000000000000000000000000",
            "e222222222222000000000000000000022222222222200000000000000000000",
        ],
        [
            "c111111111116dddddddddadddddddddddddddddddddddddcdd262aaa2dda55",
            "65555555a555aa55aa55aa6a6a56696a5969555555aa5a5a55a5aaaa5555b55",
            "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            "3dddddddddddeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee",
        ],
    ),
    "s,d,i": (
        [
            "7324965b242012002400000009249249200000000000004900000000",
            "17b6df6fb6cb7fbfdb7fbfff769b693693ed36934d36d22120746578",
            "00000000000000000000000000000000000000000000000000000000",
            "69249249240000000000000049249249200000000000000000000000",
        ],
        [
            "92492492000000000000000000000eedb5c4edaed6ec76",
            "175b6e275b55bb5dadbb5db6bb5db13b13b6bb5b8a3b6b0d",
            "16db6db6db6db6db6db6db6db6db6db6db6db6db6db6db6d",
            "edb6db6dbb6db6db6db6db6db6db6db6db6db6db6db6db6",
        ],
    ),
}


def arrays(names, values):
    types = [parse_type(TYPES[name]) for name in names]
    # The second half of a longer array, so that offsets count.
    return [pa.array(v + v, t.to_arrow()).slice(len(v)) for v, t in zip(values, types, strict=True)], types


@pytest.mark.parametrize("names", JAVA)
def test_keys_equal_those_of_java(names):
    columns, types = arrays(names.split(","), [VALUES[n] for n in names.split(",")])
    z, h = JAVA[names]
    assert [k.hex() for k in z_order(columns, types, 12 if names[0] == "s" else 8).to_pylist()] == z
    assert [k.hex().lstrip("0") or "0" for k in hilbert(columns, types).to_pylist()] == h


def test_decimals_are_ordered():
    for sql in ("DECIMAL(5, 2)", "DECIMAL(30, 2)"):
        kind = parse_type(sql)
        column = pa.array(["-9.99", "-1.00", "0.00", "1.00", "2.56", "100.01"]).cast(kind.to_arrow())
        keys = z_order([column], [kind], 8).to_pylist()
        assert keys == sorted(set(keys))
    (whole,), types = arrays(["l"], [[-9, -1, 0, 1, 2, 100]])
    assert hilbert([column, whole], [kind, *types]) == hilbert([whole, whole], types * 2)


def z_model(values):
    """Return the bits of the values, the highest first, one of each value in turn."""
    texts = [format(v + (1 << 63), "064b") for v in values]
    return int("".join(bits for column in zip(*texts, strict=True) for bits in column), 2)


def hilbert_model(values):
    x = [v % (1 << 63) for v in values]
    for bit in range(62, 0, -1):
        low = (1 << bit) - 1
        for i in range(len(x)):
            if x[i] >> bit & 1:
                x[0] ^= low
            else:
                t = (x[0] ^ x[i]) & low
                x[0], x[i] = x[0] ^ t, x[i] ^ t
    for i in range(1, len(x)):
        x[i] ^= x[i - 1]
    t = 0
    for bit in range(62, 0, -1):
        if x[-1] >> bit & 1:
            t ^= (1 << bit) - 1
    texts = [format(v ^ t, "063b") for v in x]
    return int("".join(bits for column in zip(*texts, strict=True) for bits in column), 2)


longs = st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(-4, 4)


@given(st.integers(2, 5).flatmap(lambda n: st.lists(st.tuples(*[longs] * n), min_size=1, max_size=20)))
def test_keys_equal_those_of_the_model(points):
    columns, types = arrays(["l"] * len(points[0]), [list(axis) for axis in zip(*points, strict=True)])
    assert [int.from_bytes(k) for k in z_order(columns, types, 8).to_pylist()] == list(map(z_model, points))
    assert [int.from_bytes(k) for k in hilbert(columns, types).to_pylist()] == list(map(hilbert_model, points))


def test_neighbours_on_the_hilbert_curve_are_neighbours_in_space():
    points = [(x, y) for x in range(16) for y in range(16)]
    columns, types = arrays(["l", "l"], [list(axis) for axis in zip(*points, strict=True)])
    path = [p for _, p in sorted(zip(hilbert(columns, types).to_pylist(), points, strict=True))]
    assert {abs(a - c) + abs(b - d) for (a, b), (c, d) in itertools.pairwise(path)} == {1}

"""BinaryRow and its hash: all types survive a round trip, columns equal single rows, both hashes are equal."""

from __future__ import annotations

import math
import struct
from decimal import Decimal

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paimon_core.codec.binary_row.bucket_hash import hash_images, hash_rows
from paimon_core.codec.binary_row.rows import decode_row, encode_row, encode_rows, row_images, storage_values, to_array
from paimon_core.errors import CorruptTable
from paimon_core.types import DataType, parse_type
from tests.support.examples import examples

FEW = settings(max_examples=examples(120), deadline=None, suppress_health_check=[HealthCheck.too_slow])


def whole(bits: int) -> st.SearchStrategy[int]:
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def decimals(precision: int, scale: int) -> st.SearchStrategy[Decimal]:
    edge = 10**precision - 1
    near = st.sampled_from([0, 1, -1, 127, 128, -128, -129, 2**63 % edge, edge, -edge])
    unscaled = st.integers(-edge, edge) | near.filter(lambda n: abs(n) <= edge)
    return unscaled.map(lambda n: Decimal((int(n < 0), tuple(map(int, str(abs(n)))), -scale)))


TEXT = st.text(st.characters(codec="utf-8"), max_size=30)
VALUES = {
    "BOOLEAN": st.booleans(),
    "TINYINT": whole(8),
    "SMALLINT": whole(16),
    "INT": whole(32),
    "BIGINT": whole(64),
    "FLOAT": st.floats(width=32, allow_nan=False) | st.just(math.nan),
    "DOUBLE": st.floats(allow_nan=False) | st.just(math.nan),
    "DECIMAL(1, 0)": decimals(1, 0),
    "DECIMAL(18, 4)": decimals(18, 4),
    "DECIMAL(19, 0)": decimals(19, 0),
    "DECIMAL(38, 38)": decimals(38, 38),
    "CHAR(30)": TEXT,
    "STRING": TEXT,
    "BINARY(30)": st.binary(max_size=30),
    "BYTES": st.binary(max_size=70),
    "DATE": whole(32),
    "TIME(3)": st.integers(0, 86_399_999),
    "TIMESTAMP(0)": whole(64),
    "TIMESTAMP(3)": whole(64),
    "TIMESTAMP(4)": whole(64),
    "TIMESTAMP(6)": whole(64),
    "TIMESTAMP(9)": whole(64),
    "TIMESTAMP(3) WITH LOCAL TIME ZONE": whole(64),
    "TIMESTAMP(6) WITH LOCAL TIME ZONE": whole(64),
    "TIMESTAMP(9) WITH LOCAL TIME ZONE": whole(64),
}


@st.composite
def row_sets(draw: st.DrawFn) -> tuple[list[DataType], list[tuple]]:
    """Up to 12 rows of up to 5 columns, some values null."""
    texts = draw(st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=5))
    row = st.tuples(*(st.none() | VALUES[text] for text in texts))
    return [parse_type(text) for text in texts], draw(st.lists(row, max_size=12))


def columns_of(kinds: list[DataType], rows: list[tuple]):
    return [to_array([row[at] for row in rows], kind) for at, kind in enumerate(kinds)]


def same(left, right) -> bool:
    """Whether two values are equal; NaN equals NaN, and the zeros differ."""
    if isinstance(left, float) and isinstance(right, float):
        return struct.pack("<d", left) == struct.pack("<d", right)
    return type(left) is type(right) and left == right


def murmur(data: bytes) -> int:
    """Compute the hash word by word, as format 6.2 defines it."""
    mask, hash_ = 0xFFFFFFFF, 42
    for (word,) in struct.iter_unpack("<I", data):
        k = word * 0xCC9E2D51 & mask
        k = (k << 15 | k >> 17) & mask
        hash_ ^= k * 0x1B873593 & mask
        hash_ = (hash_ << 13 | hash_ >> 19) & mask
        hash_ = (hash_ * 5 + 0xE6546B64) & mask
    hash_ ^= len(data)
    hash_ = (hash_ ^ hash_ >> 16) * 0x85EBCA6B & mask
    hash_ = (hash_ ^ hash_ >> 13) * 0xC2B2AE35 & mask
    hash_ ^= hash_ >> 16
    return hash_ - 2**32 if hash_ >= 2**31 else hash_


@FEW
@given(row_sets())
def test_a_row_comes_back(rows):
    kinds, values = rows
    for row in values:
        data = encode_row(row, kinds)
        assert len(data) % 8 == 4
        back = decode_row(data, kinds)
        assert len(back) == len(row)
        assert all(same(a, b) for a, b in zip(back, row, strict=True))


@FEW
@given(row_sets())
def test_columns_come_back(rows):
    kinds, values = rows
    for kind, column, at in zip(kinds, columns_of(kinds, values), range(len(kinds)), strict=True):
        assert column.type == kind.to_arrow()
        assert all(same(a, row[at]) for a, row in zip(storage_values(column, kind), values, strict=True))


@FEW
@given(row_sets(), st.integers(0, 3))
def test_columns_encode_as_single_rows_do(rows, cut):
    kinds, values = rows
    columns = [column.slice(cut) for column in columns_of(kinds, values)]
    expected = [encode_row(row, kinds) for row in values[cut:]]
    assert encode_rows(columns, kinds) == expected
    flat, offsets = row_images(columns, kinds)
    assert flat.tobytes() == b"".join(data[4:] for data in expected)
    assert np.diff(offsets).tolist() == [len(data) - 4 for data in expected]


@FEW
@given(row_sets())
def test_the_hash_is_murmur_of_the_image(rows):
    kinds, values = rows
    columns = columns_of(kinds, values)
    expected = [murmur(encode_row(row, kinds)[4:]) for row in values]
    assert hash_rows(columns, kinds).tolist() == expected
    assert hash_images(*row_images(columns, kinds)).tolist() == expected


@FEW
@given(row_sets(), st.data())
def test_torn_rows_give_values_or_corrupt_table(rows, data):
    kinds, values = rows
    for row in values[:3]:
        whole_row = encode_row(row, kinds)
        start = data.draw(st.integers(0, len(whole_row)))
        torn = whole_row[:start] + data.draw(st.binary(max_size=24)) + whole_row[start + 8 :]
        try:
            assert len(decode_row(torn, kinds)) == len(kinds)
        except CorruptTable:
            continue

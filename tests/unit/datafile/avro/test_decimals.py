import decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_core.datafile.avro.decimals import bytes_of_decimals, decimals_of_bytes

WIDE = pa.decimal128(38, 0)


def least_bytes(value: int) -> bytes:
    return value.to_bytes((value + (value < 0)).bit_length() // 8 + 1, "big", signed=True)


@given(st.lists(st.none() | st.integers(-(10**38) + 1, 10**38 - 1) | st.integers(-300, 300)), st.integers(0, 3))
def test_the_fewest_bytes_and_back(values, start):
    array = pa.array([None if v is None else decimal.Decimal(v) for v in values], WIDE).slice(start)
    packed = bytes_of_decimals(array)
    packed.validate(full=True)
    assert packed.to_pylist() == [None if v is None else least_bytes(v) for v in values[start:]]
    assert decimals_of_bytes(packed, WIDE).equals(array)
    assert decimals_of_bytes(packed.slice(1), WIDE).equals(array.slice(1))


def test_more_bytes_than_it_takes_are_read_as_well():
    found = decimals_of_bytes(pa.array([b"\0\0\x05", b"\xff\xff\xfb"]), pa.decimal128(3, 1))
    assert found.to_pylist() == [decimal.Decimal("0.5"), decimal.Decimal("-0.5")]


@pytest.mark.parametrize("value", [b"", b"\1" * 17, b"\x7f\xff"])
def test_bytes_that_are_no_value_of_the_type(value):
    with pytest.raises(ValueError, match=r"DECIMAL of|[Dd]ecimal"):
        decimals_of_bytes(pa.array([None, value]), pa.decimal128(3, 1))

from decimal import Decimal

import pytest

from paimon_core.codec.binary_row.rows import encode_row
from paimon_core.errors import CorruptTable
from paimon_core.lsm.key_order import key_order, sort_key
from paimon_core.types import parse_type

NAN = float("nan")
ASCENDING = {
    "BOOLEAN": [None, False, True],
    "INT": [None, -(2**31), -1, 0, 2**31 - 1],
    "BIGINT": [None, -(2**63), 0, 2**63 - 1],
    "DOUBLE": [None, -float("inf"), -1.5, -0.0, 0.0, 1.5, float("inf"), NAN],
    "FLOAT": [None, -0.0, 0.0, 0.5, NAN],
    "DECIMAL(10, 2)": [None, Decimal("-1.00"), Decimal("0.00"), Decimal("10.25")],
    "DECIMAL(38, 0)": [None, Decimal(-(10**37)), Decimal(2**64)],
    "STRING": [None, "", "a", "a\0", "ab", "b", "é", "\uffff", "\U0001f600"],
    "BYTES": [None, b"", b"\x7f", b"\x7f\x00", b"\x80", b"\xff"],
    "DATE": [None, -1, 0, 19000],
    "TIMESTAMP(9)": [None, -1, 0, 1, 10**18 + 1],
}


@pytest.mark.parametrize("name", ASCENDING)
def test_serialized_keys_compare_as_their_values(name):
    dtype = parse_type(name)
    order = key_order([dtype])
    keys = [order(encode_row([value], [dtype])) for value in ASCENDING[name]]
    assert sorted(keys) == keys
    assert len(set(keys)) == len(keys)


def test_the_first_column_decides_first():
    types = [parse_type("INT"), parse_type("STRING")]
    order = key_order(types)
    small, large = order(encode_row([1, "z"], types)), order(encode_row([2, "a"], types))
    assert small < large
    assert order(encode_row([1, "a"], types)) < small


def test_every_nan_is_one_value():
    assert sort_key([NAN]) == sort_key([-NAN])


def test_bytes_that_are_no_key():
    with pytest.raises(CorruptTable):
        key_order([parse_type("BIGINT")])(b"\x00\x00")

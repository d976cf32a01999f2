"""The hash of Hive against a model of its rules, row by row (format 6.4)."""

from decimal import Decimal

import pyarrow as pa
import pytest

from paimon_core.codec.binary_row.bucket_function import buckets_of
from paimon_core.types import parse_type

BUCKETS = 1009


def signed(number: int, bits: int = 32) -> int:
    return (number + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))


def hash_of_bytes(value: bytes) -> int:
    found = 0
    for byte in value:
        found = found * 31 + signed(byte, 8)
    return found


def hash_of_decimal(value: Decimal) -> int:
    """Java's BigDecimal.hashCode of the number without trailing zeros after the point."""
    sign, digits, exponent = value.as_tuple()
    unscaled, scale = int("".join(map(str, digits))), -int(exponent)
    while scale > 0 and unscaled % 10 == 0:
        unscaled, scale = unscaled // 10, scale - 1
    if unscaled == 0:
        scale = 0
    found = (unscaled >> 32) * 31 + (unscaled & 0xFFFFFFFF)
    return 31 * (-found if sign else found) + scale


@pytest.mark.parametrize(
    ("kind", "values", "model"),
    [
        ("STRING", ["", "a", "Straße", "x" * 40, "b"], lambda value: hash_of_bytes(value.encode())),
        ("BYTES", [b"", b"\xff\x80", b"\x01" * 9], hash_of_bytes),
        (
            "DECIMAL(12, 3)",
            [Decimal(text) for text in ("1.500", "-1.500", "10.000", "0.000", "123456789.010", "0.001", "-20.030")],
            hash_of_decimal,
        ),
    ],
)
def test_the_function_of_hive(kind, values, model):
    dtype = parse_type(kind)
    found = buckets_of([pa.array(values, dtype.to_arrow())], [dtype], "hive", BUCKETS).tolist()
    assert found == [(model(value) & 0x7FFFFFFF) % BUCKETS for value in values]

import math
from decimal import Decimal

import numpy as np
import pytest

from paimon_core.codec.partition_text import partition_values
from paimon_core.errors import UnsupportedFeature
from paimon_core.types import parse_type

DEFAULT = "__DEFAULT_PARTITION__"


def text(kind: str, value, *, legacy: bool) -> str:
    (out,) = partition_values([value], [parse_type(kind)], legacy=legacy, default_name=DEFAULT)
    return out


SAME = [
    ("BOOLEAN", True, "true"),
    ("BOOLEAN", False, "false"),
    ("TINYINT", -7, "-7"),
    ("BIGINT", -(2**63), "-9223372036854775808"),
    ("DECIMAL(10, 2)", Decimal("12.30"), "12.30"),
    ("DECIMAL(10, 2)", Decimal("12.3"), "12.30"),
    ("DECIMAL(10, 2)", Decimal("-0.0"), "0.00"),
    ("DECIMAL(10, 2)", Decimal("1E+3"), "1000.00"),
    (
        "DECIMAL(38, 10)",
        Decimal("-1234567890123456789012345678.0123456789"),
        "-1234567890123456789012345678.0123456789",
    ),
    ("DECIMAL(30, 10)", Decimal("-1E-10"), "-0.0000000001"),
    ("CHAR(6)", "ab", "ab"),
    ("STRING", "a b:c=d/e%f", "a b:c=d/e%f"),
]


@pytest.mark.parametrize(("kind", "value", "expected"), SAME, ids=[f"{k} {v}" for k, v, _ in SAME])
def test_most_types_have_one_text(kind, value, expected):
    assert text(kind, value, legacy=True) == text(kind, value, legacy=False) == expected


TWO_TEXTS = [
    ("DATE", 19737, "19737", "2024-01-15"),
    ("DATE", -1, "-1", "1969-12-31"),
    ("DATE", -719162, "-719162", "0001-01-01"),
    ("DATE", 2932896, "2932896", "9999-12-31"),
    ("DATE", 2932897, "2932897", "0000-01-01"),
    ("TIME(0)", 12345000, "12345000", "03:25:45"),
    ("TIME(3)", 12345678, "12345678", "03:25:45.678"),
    ("TIME(3)", 12345600, "12345600", "03:25:45.6"),
    ("TIME(3)", 12345005, "12345005", "03:25:45.005"),
    ("TIME(2)", 12345005, "12345005", "03:25:45.00"),
    ("TIME(1)", 12345678, "12345678", "03:25:45.6"),
    ("TIME(3)", 0, "0", "00:00:00.0"),
    ("TIMESTAMP(0)", 1705314600000, "2024-01-15T10:30", "2024-01-15 10:30:00"),
    ("TIMESTAMP(0)", 1705314605000, "2024-01-15T10:30:05", "2024-01-15 10:30:05"),
    ("TIMESTAMP(0)", -62167219200000, "0000-01-01T00:00", "0000-01-01 00:00:00"),
    ("TIMESTAMP(3)", 1705314600123, "2024-01-15T10:30:00.123", "2024-01-15 10:30:00.123"),
    ("TIMESTAMP(3)", 1705314600100, "2024-01-15T10:30:00.100", "2024-01-15 10:30:00.100"),
    ("TIMESTAMP(3)", -1, "1969-12-31T23:59:59.999", "1969-12-31 23:59:59.999"),
    ("TIMESTAMP(3)", 0, "1970-01-01T00:00", "1970-01-01 00:00:00.000"),
    ("TIMESTAMP(6)", 1705314600100000, "2024-01-15T10:30:00.100", "2024-01-15 10:30:00.100000"),
    ("TIMESTAMP(6)", 1705314600123456, "2024-01-15T10:30:00.123456", "2024-01-15 10:30:00.123456"),
    ("TIMESTAMP(9)", 1705314600123456789, "2024-01-15T10:30:00.123456789", "2024-01-15 10:30:00.123456789"),
    ("TIMESTAMP(9)", 1705314600120000000, "2024-01-15T10:30:00.120", "2024-01-15 10:30:00.120000000"),
    ("TIMESTAMP(3) WITH LOCAL TIME ZONE", 1705314600123, "2024-01-15T10:30:00.123", "2024-01-15 10:30:00.123"),
    ("TIMESTAMP(3)", 253402300800000, "+10000-01-01T00:00", "0000-01-01 00:00:00.000"),
    ("TIMESTAMP(3)", -62198755200000, "-0001-01-01T00:00", "000/-01-01 00:00:00.000"),
]


@pytest.mark.parametrize(("kind", "value", "old", "new"), TWO_TEXTS, ids=[f"{k} {v}" for k, v, _, _ in TWO_TEXTS])
def test_dates_and_times_have_two(kind, value, old, new):
    assert (text(kind, value, legacy=True), text(kind, value, legacy=False)) == (old, new)


FLOATS = [
    ("DOUBLE", 0.1, "0.1"),
    ("DOUBLE", 1.5, "1.5"),
    ("DOUBLE", 100.0, "100.0"),
    ("DOUBLE", 0.0, "0.0"),
    ("DOUBLE", -0.0, "-0.0"),
    ("DOUBLE", 0.001, "0.001"),
    ("DOUBLE", 0.000999, "9.99E-4"),
    ("DOUBLE", 9999999.999, "9999999.999"),
    ("DOUBLE", 1e7, "1.0E7"),
    ("DOUBLE", 1e10, "1.0E10"),
    ("DOUBLE", -1e-5, "-1.0E-5"),
    ("DOUBLE", 123456789.125, "1.23456789125E8"),
    ("DOUBLE", 5e-324, "4.9E-324"),
    ("DOUBLE", 1.7976931348623157e308, "1.7976931348623157E308"),
    ("DOUBLE", math.inf, "Infinity"),
    ("DOUBLE", -math.inf, "-Infinity"),
    ("DOUBLE", math.nan, "NaN"),
    ("FLOAT", float(np.float32(0.1)), "0.1"),
    ("FLOAT", float(np.float32(1e10)), "1.0E10"),
    ("FLOAT", float(np.float32(3.4028235e38)), "3.4028235E38"),
    ("FLOAT", float(np.float32(1.4e-45)), "1.4E-45"),
    ("FLOAT", 16777216.0, "1.6777216E7"),
]


@pytest.mark.parametrize(("kind", "value", "expected"), FLOATS, ids=[f"{k} {v}" for k, v, _ in FLOATS])
def test_floats_in_the_fewest_digits(kind, value, expected):
    assert text(kind, value, legacy=True) == text(kind, value, legacy=False) == expected


BLANK = ["", " ", "\t\n", "\u3000", "\u2003", "\x1f"]
NOT_BLANK = ["\u00a0", "\u2007", "\u202f", "\x85", "\u200b", " a "]


@pytest.mark.parametrize("legacy", [True, False])
def test_null_and_blank_go_to_the_default_partition(legacy):
    assert text("STRING", None, legacy=legacy) == text("INT", None, legacy=legacy) == DEFAULT
    assert [text("STRING", value, legacy=legacy) for value in BLANK] == [DEFAULT] * len(BLANK)
    assert [text("STRING", value, legacy=legacy) for value in NOT_BLANK] == NOT_BLANK


def test_binary_has_a_text_under_new_names_only():
    assert text("BYTES", b"abc", legacy=False) == "abc"
    assert text("BYTES", b"a\xffb", legacy=False) == "a\ufffdb"
    assert text("BYTES", b"", legacy=False) == DEFAULT
    assert text("BYTES", None, legacy=True) == DEFAULT
    with pytest.raises(UnsupportedFeature, match=r"BYTES.*legacy-name"):
        text("BYTES", b"abc", legacy=True)


def test_values_keep_their_order():
    kinds = [parse_type("STRING"), parse_type("DATE"), parse_type("INT")]
    assert partition_values(["x", 0, None], kinds, legacy=True, default_name="none") == ("x", "0", "none")
    assert partition_values([], [], legacy=True, default_name="none") == ()

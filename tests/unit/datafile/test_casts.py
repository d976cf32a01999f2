from decimal import Decimal

import pyarrow as pa
import pytest

from paimon_core.codec.binary_row import storage_values, to_array
from paimon_core.datafile.casts import check_cast, from_stored, is_stored_as, rescale
from paimon_core.errors import UnsupportedFeature
from paimon_core.types import parse_type


def decimals(*texts):
    return [None if t is None else Decimal(t) for t in texts]


CASTS = [
    ("TINYINT", "BIGINT", [1, -128, None], [1, -128, None]),
    ("INT", "FLOAT", [16_777_217], [16_777_216.0]),
    ("BIGINT", "DOUBLE", [2**53 + 1], [2.0**53]),
    ("FLOAT", "DOUBLE", [0.5], [0.5]),
    ("INT", "DECIMAL(5, 2)", [123, 1000, -999, None], decimals("123.00", None, "-999.00", None)),
    ("BIGINT", "DECIMAL(38, 18)", [2**63 - 1], decimals("9223372036854775807.000000000000000000")),
    ("DECIMAL(10, 4)", "DECIMAL(6, 2)", decimals("1.0050", "-1.0050", "123456.7891"), decimals("1.01", "-1.01", None)),
    ("DECIMAL(38, 0)", "DECIMAL(38, 0)", decimals("9" * 38), decimals("9" * 38)),
    ("DECIMAL(37, 0)", "DECIMAL(38, 0)", decimals("-" + "9" * 37), decimals("-" + "9" * 37)),
    ("DOUBLE", "DECIMAL(10, 2)", [2.675, -1.005, 1e9, float("nan"), 1e300], decimals("2.68", "-1.01", *[None] * 3)),
    ("DOUBLE", "DECIMAL(38, 20)", [1e-7, 1e-25], decimals("0.00000010000000000000", "0." + "0" * 20)),
    ("FLOAT", "DECIMAL(10, 3)", [0.1], decimals("0.100")),
    ("DECIMAL(18, 5)", "DOUBLE", decimals("0.1", None), [0.1, None]),
    ("DECIMAL(30, 5)", "FLOAT", decimals("16777217.00001", "0.1"), [16_777_218.0, 0.10000000149011612]),
    ("VARCHAR(10)", "VARCHAR(3)", ["abcdef", "é\U0001f600xyz", None], ["abc", "é\U0001f600x", None]),
    ("CHAR(4)", "STRING", ["ab"], ["ab"]),
    ("VARBINARY(6)", "VARBINARY(2)", [b"abc", b"a"], [b"ab", b"a"]),
    ("BINARY(3)", "BYTES", [b"abc"], [b"abc"]),
    ("TIMESTAMP(6)", "TIMESTAMP(3)", [1_999, -1, None], [1, -1, None]),
    ("TIMESTAMP(3)", "TIMESTAMP(9)", [1, -1], [1_000_000, -1_000_000]),
    ("TIMESTAMP(3)", "TIMESTAMP(1)", [1_987, -1], [1_900, -100]),
    ("TIMESTAMP(6)", "TIMESTAMP(5)", [19, -1], [10, -10]),
    ("TIMESTAMP(6)", "DATE", [86_400_000_000 + 5, -1], [1, -1]),
    ("TIMESTAMP(6)", "TIME(3)", [86_400_000_000 + 5_000, -1], [5, 86_399_999]),
    ("TIMESTAMP(3) WITH LOCAL TIME ZONE", "TIMESTAMP(6) WITH LOCAL TIME ZONE", [7], [7_000]),
    ("TIME(0)", "TIME(3)", [5_000], [5_000]),
]


@pytest.mark.parametrize(("stored", "wanted", "values", "expected"), CASTS)
def test_casts(stored, wanted, values, expected):
    old, new = parse_type(stored), parse_type(wanted)
    cast = check_cast(old, new, "c")
    array = to_array(values, old)
    found = array if cast is None else cast(array, old, new)
    assert found.type == new.to_arrow()
    assert storage_values(found, new) == expected


@pytest.mark.parametrize(
    ("stored", "wanted"),
    [
        ("BIGINT", "INT"),
        ("DOUBLE", "FLOAT"),
        ("DOUBLE", "DECIMAL(38, 21)"),
        ("STRING", "INT"),
        ("INT", "STRING"),
        ("STRING", "CHAR(3)"),
        ("VARBINARY(3)", "BINARY(3)"),
        ("BOOLEAN", "INT"),
        ("DATE", "TIMESTAMP(3)"),
        ("TIMESTAMP(3)", "TIMESTAMP(3) WITH LOCAL TIME ZONE"),
        ("TIMESTAMP(3) WITH LOCAL TIME ZONE", "TIMESTAMP(3)"),
        ("TIMESTAMP(3) WITH LOCAL TIME ZONE", "DATE"),
    ],
)
def test_other_casts_are_refused_by_name(stored, wanted):
    with pytest.raises(UnsupportedFeature) as refused:
        check_cast(parse_type(stored), parse_type(wanted), "c")
    assert refused.value.facts == {"column": "c", "stored": stored, "wanted": wanted}


def test_nullability_alone_is_no_cast():
    assert check_cast(parse_type("INT NOT NULL"), parse_type("INT"), "c") is None


def test_a_zone_is_set_without_moving_the_instant():
    moved = rescale(pa.array([5], pa.timestamp("us")), pa.timestamp("us", "UTC"))
    assert moved.type == pa.timestamp("us", "UTC")
    assert moved.cast(pa.int64()).to_pylist() == [5]


def test_slices_and_nulls_survive_rescaling():
    array = pa.array([9, -1, None, 2_001], pa.timestamp("us")).slice(1)
    assert rescale(array, pa.timestamp("ms")).cast(pa.int64()).to_pylist() == [-1, None, 2]


@pytest.mark.parametrize("zone", ["", " WITH LOCAL TIME ZONE"])
@pytest.mark.parametrize(("precision", "unit"), [(0, "ms"), (3, "ms"), (6, "us")])
def test_timestamps_may_lie_in_a_file_as_plain_numbers(precision, unit, zone):
    """Paimon up to 0.6 wrote them to Parquet so that only the precision determines the unit."""
    kind = parse_type(f"TIMESTAMP({precision}){zone}")
    assert is_stored_as(pa.int64(), kind)
    found = from_stored(pa.array([1_700_000_000_123, None]), kind)
    assert found.type == pa.timestamp(unit, "UTC" if zone else None)
    assert found.cast(pa.int64()).to_pylist() == [1_700_000_000_123, None]
    nested = parse_type({"type": "ARRAY", "element": f"TIMESTAMP({precision}){zone}"})
    assert is_stored_as(pa.list_(pa.int64()), nested)
    assert from_stored(pa.array([[5]]), nested).type == nested.to_arrow()


def test_nanoseconds_are_no_plain_numbers():
    assert not is_stored_as(pa.int64(), parse_type("TIMESTAMP(9)"))
    assert not is_stored_as(pa.int32(), parse_type("TIMESTAMP(3)"))

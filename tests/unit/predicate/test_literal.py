import datetime as dt
import math
from decimal import Decimal

import pytest

from paimon_core.errors import SchemaMismatch
from paimon_core.predicate.literal import plain_literal, storage_value
from paimon_core.schema import DataField
from paimon_core.types import parse_type

NOON = dt.datetime(2026, 5, 1, 12, 0, 0, 123456)
PLUS_2 = dt.timezone(dt.timedelta(hours=2))
DAY = 20574  # 2026-05-01 after 1970-01-01
MILLIS = DAY * 86_400_000 + 43_200_123


def bound(text, literal):
    return storage_value(plain_literal(literal), DataField(0, "x", parse_type(text)))


@pytest.mark.parametrize(
    ("text", "literal", "value"),
    [
        ("BOOLEAN", True, True),
        ("TINYINT", -128, -128),
        ("BIGINT", 2**63 - 1, 2**63 - 1),
        ("DOUBLE", 1, 1.0),
        ("FLOAT", 0.1, 0.10000000149011612),
        ("FLOAT", math.inf, math.inf),
        ("DECIMAL(5, 2)", 3, Decimal("3.00")),
        ("DECIMAL(5, 2)", Decimal("-999.99"), Decimal("-999.99")),
        ("DECIMAL(5, 2)", Decimal("1E+2"), Decimal("100.00")),
        ("DECIMAL(38, 0)", 10**38 - 1, Decimal(10**38 - 1)),
        ("STRING", "ü", "ü"),
        ("CHAR(1)", "longer", "longer"),
        ("BYTES", b"\xff", b"\xff"),
        ("BINARY(2)", bytearray(b"ab"), b"ab"),
        ("DATE", "2026-05-01", DAY),
        ("DATE", dt.date(1969, 12, 31), -1),
        ("DATE", dt.datetime(2026, 5, 1), DAY),
        ("TIME(3)", "12:00:00.123", 43_200_123),
        ("TIME(0)", dt.time(0, 1), 60_000),
        ("TIMESTAMP(3)", "2026-05-01", DAY * 86_400_000),
        ("TIMESTAMP(3)", "2026-05-01T12:00:00.123", MILLIS),
        ("TIMESTAMP(6)", NOON, MILLIS * 1000 + 456),
        ("TIMESTAMP(6)", "1969-12-31 23:59:59.999999", -1),
        ("TIMESTAMP(9)", "2026-05-01 12:00:00.123456789", MILLIS * 1_000_000 + 456_789),
        ("TIMESTAMP(6) WITH LOCAL TIME ZONE", NOON.replace(tzinfo=PLUS_2), (MILLIS - 7_200_000) * 1000 + 456),
        ("TIMESTAMP(3) WITH LOCAL TIME ZONE", "2026-05-01T12:00:00.123Z", MILLIS),
        ("TIMESTAMP(3) WITH LOCAL TIME ZONE", "2026-05-01T12:00:00.123-0130", MILLIS + 5_400_000),
    ],
)
def test_a_literal_that_fits_the_column(text, literal, value):
    assert bound(text, literal) == (value, True)


@pytest.mark.parametrize(
    ("text", "literal", "floor"),
    [
        ("DECIMAL(5, 2)", Decimal("1.005"), Decimal("1.00")),
        ("DECIMAL(5, 2)", Decimal("-1.005"), Decimal("-1.01")),
        ("DECIMAL(5, 2)", Decimal("-1E-1000000"), Decimal("-0.01")),
        ("DATE", dt.datetime(2026, 5, 1, 12), DAY),
        ("TIME(3)", dt.time(0, 0, 0, 1500), 1),
        ("TIMESTAMP(3)", NOON, MILLIS),
        ("TIMESTAMP(3)", "1969-12-31T23:59:59.9999", -1),
        ("TIMESTAMP(6)", "2026-05-01T12:00:00.123456789", MILLIS * 1000 + 456),
    ],
)
def test_a_literal_between_two_values_gives_the_one_below(text, literal, floor):
    assert bound(text, literal) == (floor, False)


@pytest.mark.parametrize(
    ("text", "literal", "says"),
    [
        ("BOOLEAN", 1, "does not accept the int 1"),
        ("INT", True, "does not accept the bool"),
        ("INT", 1.0, "does not accept the float"),
        ("INT", "1", "does not accept the str"),
        ("TINYINT", 128, "from -128 to 127"),
        ("DOUBLE", "1", "does not accept the str"),
        ("DOUBLE", 10**400, "too large"),
        ("FLOAT", 1e300, "outside the range of the type"),
        ("DECIMAL(5, 2)", 1.5, "use a Decimal"),
        ("DECIMAL(5, 2)", 1000, "outside the range of the type"),
        ("DECIMAL(5, 2)", Decimal("-999.991"), "outside the range of the type"),
        ("DECIMAL(5, 2)", Decimal("NaN"), "outside the range of the type"),
        ("DECIMAL(5, 2)", Decimal("1E+1000000"), "outside the range of the type"),
        ("STRING", b"x", "does not accept the bytes"),
        ("STRING", "\ud800", "surrogates"),
        ("BYTES", "x", "does not accept the str"),
        ("DATE", "May 1st", "not a date such as"),
        ("DATE", "2026-02-30", "day"),
        ("DATE", 20574, "does not accept the int"),
        ("TIME(3)", "25:00:00", "hour"),
        ("TIME(3)", dt.time(1, tzinfo=dt.UTC), "without zone"),
        ("TIMESTAMP(3)", "2026-05-01T00:00:00Z", "without offset"),
        ("TIMESTAMP(3)", NOON.replace(tzinfo=PLUS_2), "without offset"),
        ("TIMESTAMP(3) WITH LOCAL TIME ZONE", NOON, "tzinfo"),
        ("TIMESTAMP(3) WITH LOCAL TIME ZONE", "2026-05-01", "offset such as"),
        ("TIMESTAMP(9)", "9999-12-31", "is not from"),
    ],
)
def test_a_literal_that_does_not_fit_is_refused_by_column(text, literal, says):
    with pytest.raises(SchemaMismatch, match=rf"(?s)'x'.*{says}"):
        bound(text, literal)

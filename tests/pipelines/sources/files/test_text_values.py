"""Texts become values exactly or are bad, one at a time and in a column with others."""

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

from paimon_core.types import parse_type
from paimon_lake.sources.files.text.text_values import TextRules, convert_text

BAD = object()
WITH_NULLS = TextRules(null_values=("", "NULL"))


def values(kind, texts, rules):
    converted, bad = convert_text(pa.array(texts, pa.string()), parse_type(kind), rules)
    assert converted.type == parse_type(kind).to_arrow()
    found = converted.to_pylist()
    return [BAD if bad is not None and bad[at] else value for at, value in enumerate(found)]


def check(kind, cases, rules=WITH_NULLS):
    texts, wanted = list(cases), list(cases.values())
    assert values(kind, texts, rules) == wanted
    assert [values(kind, [text], rules)[0] for text in texts] == wanted


def test_integers():
    check(
        "INT",
        {"1": 1, "+5": 5, "-7": -7, " 8\t": 8, "007": 7, "": None, " ": None, "NULL": None, "2147483647": 2**31 - 1},
    )
    check("INT", dict.fromkeys(["0x1F", "2147483648", "1.0", "1e2", "+-5", "--5", "-", "1_0", "١"], BAD))
    check("TINYINT", {"-128": -128, "128": BAD, "0xFF": BAD})
    check("BIGINT", {"9223372036854775807": 2**63 - 1, "9223372036854775808": BAD})


def test_decimals_lose_no_digit_and_do_not_wrap_around():
    check(
        "DECIMAL(10, 2)",
        {
            "1.5": Decimal("1.50"),
            "1.500": Decimal("1.50"),
            "+2": 2,
            ".5": Decimal("0.50"),
            "5.": 5,
            "1e2": 100,
            "9e7": 90_000_000,
            "0" * 60 + "1": 1,
            "99999999.99": Decimal("99999999.99"),
        },
    )
    wrong = [
        "1.005",
        "1e-3",
        "100000000",
        "9e8",
        "1e99",
        ".",
        "-",
        "1e",
        "340282366920938463463374607431768211457",
        "0x1",
    ]
    check("DECIMAL(10, 2)", dict.fromkeys(wrong, BAD))
    check("DECIMAL(38, 0)", {"9" * 38: int("9" * 38), "9" * 39: BAD, "1e37": 10**37, "1e38": BAD, "9" * 38 + "e1": BAD})
    check("DECIMAL(38, 38)", {"." + "1" * 38: Decimal("." + "1" * 38), "." + "1" * 39: BAD, "1": BAD, "0": 0})


def test_doubles():
    inf = float("inf")
    check("DOUBLE", {"1": 1.0, "+1.5e3": 1500.0, "inf": inf, "-Infinity": -inf, ".5": 0.5, "1e-400": 0.0})
    check("DOUBLE", dict.fromkeys(["1e400", "1e", "nan(1)", "0x1p3", "1d", "1,5"], BAD))
    check("FLOAT", {"0.5": 0.5, "1e39": BAD})
    assert str(values("DOUBLE", ["NaN", "1"], WITH_NULLS)) == "[nan, 1.0]"


def test_decimal_comma():
    rules = TextRules(decimal_point=",")
    check("DOUBLE", {"1,5": 1.5, "1.5": BAD, "1e3": 1000.0}, rules)
    check("DECIMAL(5, 2)", {"-1,25": Decimal("-1.25"), "1.25": BAD}, rules)


def test_booleans():
    check("BOOLEAN", {"true": True, "FALSE": False, "1": True, "0": False, " True": True})
    check("BOOLEAN", dict.fromkeys(["yes", "t", "2", "01"], BAD))


def test_dates():
    check("DATE", {"2024-02-29": dt.date(2024, 2, 29), "0001-01-01": dt.date(1, 1, 1), "9999-12-31": dt.date.max})
    wrong = ["2023-02-30", "2023-02-29", "1900-02-29", "0000-01-01", "2023-2-1", "20230201", "2023-01-01T00:00:00"]
    check("DATE", dict.fromkeys(wrong, BAD))
    check("DATE", {"20240131": dt.date(2024, 1, 31), "2024131": BAD, "20240230": BAD}, TextRules(date_format="%Y%m%d"))
    check("DATE", {"3-Feb-24": dt.date(2024, 2, 3), "31-FEB-24": BAD}, TextRules(date_format="%d-%b-%y"))


def test_times_of_day():
    check("TIME(3)", {"10:11": dt.time(10, 11), "10:11:12.5": dt.time(10, 11, 12, 500_000)})
    check("TIME(3)", dict.fromkeys(["24:00:00", "10:11:12.1234", "10", "23:59:60"], BAD))


def test_timestamps():
    at = dt.datetime(2023, 2, 28, 10, 11, 12)
    good = {
        "2023-02-28": at.replace(hour=0, minute=0, second=0),
        "2023-02-28 10": at.replace(minute=0, second=0),
        "2023-02-28T10:11": at.replace(second=0),
        "2023-02-28T10:11:12Z": at,
        "2023-02-28T12:11:12+02:00": at,
        "2023-02-28T12:11:12+02": at,
        "2023-02-28 08:41:12-0130": at,
        "2023-02-28T10:11:12.1234560": at.replace(microsecond=123_456),
    }
    check("TIMESTAMP(6)", good)
    wrong = ["2023-02-28T10:11:12.1234567", "2023-02-30 10:11:12", "2023-02-28 24:00:00", "2023-02-28 10:11:60"]
    wrong += ["2023-02-28T10:11:12+24:00", "0001-01-01T00:00:00+01:00", "2023-02-28t10:11:12", "1677488400"]
    check("TIMESTAMP(6)", dict.fromkeys(wrong, BAD))
    check("TIMESTAMP(0)", {"2023-02-28 10:11:12.0": at, "2023-02-28 10:11:12.5": BAD})
    check("TIMESTAMP(9)", {"2262-04-12": BAD, "1600-01-01": BAD, "2023-02-28 10:11:12": at})
    utc = at.replace(tzinfo=dt.UTC)
    check("TIMESTAMP(3) WITH LOCAL TIME ZONE", {"2023-02-28 10:11:12": utc, "2023-02-28 11:11:12+01:00": utc})


def test_timestamp_format():
    rules = TextRules(timestamp_format="%d.%m.%Y %I:%M %p")
    at = dt.datetime(2024, 1, 31, 17, 6)
    check("TIMESTAMP(3)", {"31.01.2024 5:06 pm": at, "31.1.2024 12:00 AM": dt.datetime(2024, 1, 31)}, rules)
    check("TIMESTAMP(3)", dict.fromkeys(["31.2.2024 1:00 AM", "31.1.2024 13:00 AM", "2024-01-31"], BAD), rules)


def test_binaries_are_base64():
    check("BYTES", {"aGVsbG8=": b"hello", "YQ==": b"a", "YWI=": b"ab", "": None})
    check("BYTES", dict.fromkeys(["aGVsbG8", "a===", "=", "Y Q=", "YQ==YQ=="], BAD))
    check("BINARY(1)", {"YQ==": b"a", "YWI=": BAD})


def test_lengths_of_texts_count_characters():
    check("CHAR(2)", {"éé": "éé", "abc": BAD, " a": " a"}, TextRules())
    check("VARCHAR(2)", {"": "", "a": "a", "abc": BAD}, TextRules())


@pytest.mark.parametrize(
    "kind", ["INT", "DECIMAL(5, 1)", "DOUBLE", "DATE", "TIME(0)", "TIMESTAMP(6)", "BYTES", "STRING"]
)
def test_columns_without_texts(kind):
    assert values(kind, [], WITH_NULLS) == []
    assert values(kind, [None], WITH_NULLS) == [None]

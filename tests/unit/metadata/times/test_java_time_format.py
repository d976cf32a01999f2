"""Time formats with the rules of Java's DateTimeFormatter; tests/interop compares many more texts with Java."""

from __future__ import annotations

import datetime

import pytest

from paimon_core.errors import InvalidOption, UnsupportedFeature
from paimon_core.metadata.times.calendar import day_number, days_in_month
from paimon_core.metadata.times.java_time_format import DEFAULT, NANOS_PER_DAY, LocalTime, time_format

EPOCH = datetime.datetime(1970, 1, 1)


def shown(time: LocalTime | None) -> str | None:
    if time is None:
        return None
    moment = EPOCH + datetime.timedelta(days=time.day, microseconds=time.nanos // 1000)
    return moment.isoformat(" ").removesuffix(" 00:00:00")


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("2024-01-31", "2024-01-31"),
        ("2024-1-3", "2024-01-03"),
        ("2024-13-01", "2025-01-01"),
        ("2024-02-31", "2024-03-02"),
        ("2024-0-0", "2023-11-30"),
        ("2024-01-31 10:30:15", "2024-01-31 10:30:15"),
        ("2024-01-31 1:2:3.5", "2024-01-31 01:02:03.500000"),
        ("2024-01-31 25:61:61", "2024-02-01 02:02:01"),
        ("2024-01-31 10:30", None),
        ("2024-01-31T10:30:15", None),
        (" 2024-01-31", None),
        ("20240131", None),
        ("19737", None),
        ("__DEFAULT_PARTITION__", None),
        ("", None),
        ("٢٠٢٤-01-31", None),
    ],
)
def test_the_default_is_lenient(text, want):
    assert shown(DEFAULT.read(text)) == want


@pytest.mark.parametrize(
    ("pattern", "text", "want"),
    [
        ("yyyyMMdd", "20240131", "2024-01-31"),
        ("yyyyMMdd", "2024131", None),
        ("yyyyMMdd", "20240231", "2024-02-29"),
        ("yyyyMMdd", "20241301", None),
        ("yyyyMMddHH", "2024013123", "2024-01-31 23:00:00"),
        ("yyyyMMddHH", "2024013124", "2024-02-01"),
        ("yyyyMMddHHmmssSSS", "20240131010203004", "2024-01-31 01:02:03.004000"),
        ("yyMMdd", "240131", "2024-01-31"),
        ("yyyy-MM-dd'T'HH:mm", "2024-01-31T10:30", "2024-01-31 10:30:00"),
        ("yyyy-MM-dd[ HH[:mm]]", "2024-01-31 10", "2024-01-31 10:00:00"),
        ("yyyy-MM-dd[ HH[:mm]]", "2024-01-31", "2024-01-31"),
        ("uuuu-DDD", "2024-366", "2024-12-31"),
        ("uuuu-DDD", "2023-366", None),
        ("yyyy-MM", "2024-01", None),
        ("yyyy-MM-dd kk", "2024-01-31 24", "2024-01-31"),
        ("yyyy-MM-dd mm", "2024-01-31 30", "2024-01-31"),
        ("y-M-d", "+2024-01-31", None),
        ("yyyy''MM''dd", "2024'01'31", "2024-01-31"),
        ("yMMdd", "20240131", "2024-01-31"),
        ("yyyyMMdd", "20240031", None),
        ("yyyyMMdd", "20240100", None),
        ("yyyyMMdd", "20240132", None),
        ("yyyyMMddHHmm", "202401310000", "2024-01-31"),
        ("yyyyMMddHHmm", "202401312359", "2024-01-31 23:59:00"),
        ("yyyyMMddHHmm", "202401312360", None),
        ("yyyyMMddHHmm", "202401312401", None),
        ("yyyyMMddHHmm", "202401312500", None),
        ("yyyyMMddHHmmss", "20240131105900", "2024-01-31 10:59:00"),
        ("yyyyMMddHHmmss", "20240131105960", None),
        ("yyyyMMddHHmmssSSSSSSSSS", "20240131010203123456789", "2024-01-31 01:02:03.123456"),
        ("yyyy-MM-dd HH ss", "2024-01-31 10 30", "2024-01-31"),
        ("yyyy-MM-dd HH:mm SSS", "2024-01-31 10:30 500", "2024-01-31"),
        ("uuuu-DDD", "2024-000", None),
        ("uuuu-DDD", "2024-367", None),
        ("uuuu-D", "2024-0032", "2024-02-01"),
        ("uuuu-MM DDD", "2024-01 031", "2024-01-31"),
        ("uuuu-MM DDD", "2024-01 032", None),
        ("uuuu-MM DDD", "2024-02 032", "2024-02-01"),
        ("uuuu-DDD dd", "2024-032 01", "2024-02-01"),
        ("uuuuDDD", "2024032", "2024-02-01"),
        ("uuuuDD", "2024032", None),
        ("yyyy-MM-dd HH kk", "2024-01-31 00 24", "2024-01-31"),
        ("yyyy-MM-dd HH kk", "2024-01-31 01 24", None),
        ("uuuu-DDD dd", "2024-032 02", None),
        ("uuuu-DDD dd", "2023-334 30", "2023-11-30"),
        ("uuuu-DDD dd", "2023-335 31", None),
    ],
)
def test_patterns(pattern, text, want):
    assert shown(time_format(pattern).read(text)) == want


@pytest.mark.parametrize("pattern", ["MMM d yyyy", "yyyy-MM-dd a", "YYYY-ww", "yyyy-MM-dd z", "q"])
def test_letters_that_are_not_read_are_named(pattern):
    with pytest.raises(UnsupportedFeature, match="is not supported; the supported letters are"):
        time_format(pattern)


@pytest.mark.parametrize("pattern", ["yyyy-MM-dd]", "yyyy 'open", "{yyyy}", "yyyy-MM-ddd", "HHH", "SSSSSSSSSS"])
def test_what_is_no_pattern_is_refused(pattern):
    with pytest.raises(InvalidOption, match="not a valid pattern of Java's DateTimeFormatter"):
        time_format(pattern)


def test_years_beyond_the_calendar_of_python():
    far = time_format("uuuu-MM-dd").read("+999999999-12-31")
    assert far is not None
    assert far.total_nanos > 300_000_000 * NANOS_PER_DAY


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("0001 0000-01-01", LocalTime(-719_528, 0)),
        ("0002 -0001-12-31", LocalTime(-719_529, 0)),
        ("0001 0001-01-01", LocalTime(-719_162, 0)),
        ("0002 0000-01-01", None),
        ("0000 0000-01-01", None),
    ],
)
def test_a_year_of_era_beside_a_year_that_is_not_positive_counts_backwards(text, want):
    assert time_format("yyyy uuuu-MM-dd").read(text) == want


@pytest.mark.parametrize(
    "day", [(1, 1, 1), (1900, 3, 1), (1970, 1, 1), (2000, 2, 29), (2000, 3, 1), (2023, 12, 31), (9999, 12, 31)]
)
def test_day_numbers(day):
    assert day_number(*day) == (datetime.date(*day) - datetime.date(1970, 1, 1)).days
    assert days_in_month(day[0], day[1]) >= day[2]


@pytest.mark.parametrize(
    ("year", "february"), [(1900, 28), (2000, 29), (2023, 28), (2024, 29), (0, 29), (-1, 28), (-4, 29)]
)
def test_days_of_a_month(year, february):
    assert [days_in_month(year, m) for m in (1, 2, 3, 4, 12)] == [31, february, 31, 30, 31]
    assert day_number(year, 3, 1) - day_number(year, 2, 1) == february

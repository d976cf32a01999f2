"""Time formats with the rules of Java's DateTimeFormatter; tests/interop compares many more texts with Java."""

from __future__ import annotations

import datetime

import pytest

from paimon_core.codec.calendar import day_number, days_in_month
from paimon_core.codec.time_format import DEFAULT, NANOS_PER_DAY, LocalTime, time_format
from paimon_core.errors import InvalidOption, UnsupportedFeature

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


@pytest.mark.parametrize("day", [(1, 1, 1), (1900, 3, 1), (1970, 1, 1), (2000, 2, 29), (2023, 12, 31), (9999, 12, 31)])
def test_day_numbers(day):
    assert day_number(*day) == (datetime.date(*day) - datetime.date(1970, 1, 1)).days
    assert days_in_month(day[0], day[1]) >= day[2]

"""Names of automatic tags, as Java's formatters write and read them."""

import datetime

import pytest

from paimon_core.metadata.times.automatic_tag_names import EPOCH, MILLISECOND, Periods
from paimon_core.options import TableOptions


def periods(**options):
    names = {"period": "tag.creation-period", "form": "tag.period-formatter", "every": "tag.creation-period-duration"}
    return Periods.of(TableOptions.parse({names[k]: v for k, v in options.items()}))


def at(text):
    return (datetime.datetime.fromisoformat(text) - EPOCH) // MILLISECOND


@pytest.mark.parametrize(
    ("options", "time", "name"),
    [
        ({}, "2024-01-16T00:00:00", "2024-01-15"),
        ({}, "2024-01-16T23:59:59.999", "2024-01-15"),
        ({"form": "without_dashes"}, "2024-03-01T12:00:00", "20240229"),
        ({"form": "without_dashes_and_spaces"}, "2024-01-01T00:00:00", "20231231"),
        ({"period": "hourly"}, "2024-01-15T11:30:00", "2024-01-15 10"),
        ({"period": "hourly"}, "2024-01-15T00:00:00", "2024-01-14 23"),
        ({"period": "hourly", "form": "without_dashes"}, "2024-01-15T11:00:00", "20240115 10"),
        ({"period": "hourly", "form": "without_dashes_and_spaces"}, "2024-01-15T11:00:00", "2024011510"),
        ({"period": "two-hours"}, "2024-01-15T11:00:00", "2024-01-15 08"),
        ({"period": "two-hours", "form": "without_dashes"}, "2024-01-15T12:00:00", "2024-01-15 10"),
        ({"every": "5 min"}, "2024-01-15T11:07:30", "202401151100"),
        ({"every": "1 d", "period": "hourly"}, "2024-01-15T11:07:30", "202401140000"),
        ({"every": "90 s"}, "1970-01-01T00:07:00", "197001010004"),
    ],
)
def test_the_period_that_has_ended_gives_the_name(options, time, name):
    p = periods(**options)
    start = p.ended(at(time))
    assert p.name(start) == name
    assert p.start(name) == start - start % 60_000


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({}, "2024-1-15"),
        ({}, "2024-02-30"),
        ({}, "2024-13-01"),
        ({}, "x2024-01-15"),
        ({}, "20240115"),
        ({}, ""),
        ({}, " 2024-01-15"),
        ({}, "٢٠٢٤-01-15"),
        ({}, "0000-01-15"),
        ({"form": "without_dashes"}, "2024-01-15"),
        ({"period": "hourly"}, "2024-01-15"),
        ({"period": "hourly"}, "2024-01-15 24"),
        ({"period": "hourly"}, "2024-01-15 1"),
        ({"period": "hourly"}, "2024-01-15  10"),
        ({"every": "1 h"}, "2024-01-15 10"),
        ({"every": "1 h"}, "202401151060"),
    ],
)
def test_names_that_no_automatic_tag_has(options, name):
    assert periods(**options).start(name) is None


def test_only_the_part_before_the_first_blank_names_a_day():
    assert periods().start("2024-01-15 10") == periods().start("2024-01-15") == at("2024-01-15T00:00:00")


def test_years_have_four_digits():
    assert periods().name(at("0987-05-06T00:00:00")) == "0987-05-06"

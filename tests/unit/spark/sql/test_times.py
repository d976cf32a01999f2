"""Texts of times in the time zone of the session."""

import datetime
from types import SimpleNamespace

import pytest

from paimon_core.errors import InvalidRequest
from paimon_core.spark.sql.times import moment


def session(zone):
    return SimpleNamespace(conf=SimpleNamespace(get=lambda key: zone))


@pytest.mark.parametrize(
    ("zone", "text", "utc"),
    [
        ("UTC", "2026-01-31 12:00:00.1", "2026-01-31T12:00:00.100000"),
        ("+05:30", "2026-01-31 12:00:00", "2026-01-31T06:30:00"),
        ("GMT-3", " 2026-01-31 12:00:00.123 ", "2026-01-31T15:00:00.123000"),
        ("Europe/Berlin", "2026-07-01 12:00:00", "2026-07-01T10:00:00"),
        ("Europe/Berlin", "2026-10-25 02:30:00+01:00", "2026-10-25T01:30:00"),
        ("Europe/Berlin", "2026-03-29 02:30:00", "2026-03-29T01:30:00"),  # the clock leaves it out: Spark reads 3:30
        ("Europe/Berlin", "2026-07-01", "2026-06-30T22:00:00"),
    ],
)
def test_times_are_in_the_zone_of_the_session(zone, text, utc):
    found = moment(session(zone), text, "TIMESTAMP AS OF")
    assert found.astimezone(datetime.UTC).replace(tzinfo=None).isoformat() == utc


@pytest.mark.parametrize(
    ("zone", "text", "problem"),
    [
        ("Europe/Berlin", "2026-10-25 02:30:00", r"02:30:00\+02:00' or '2026-10-25 02:30:00\+01:00'"),
        ("Nowhere/City", "2026-10-25", "spark.sql.session.timeZone is 'Nowhere/City'"),
        ("UTC", "yesterday", "ISO format"),
    ],
)
def test_times_that_are_not_clear_are_refused(zone, text, problem):
    with pytest.raises(InvalidRequest, match=problem):
        moment(session(zone), text, "TIMESTAMP AS OF")
